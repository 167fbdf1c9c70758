//! When to record: the options for windows, as profilers have them.
//!
//! Must not know: how the library applies them.

use clap::{Args, ValueEnum};

use super::names::Environment;

/// The window. Several conditions hold together.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "When to record")]
pub struct WindowArgs {
    /// Record only between cudaProfilerStart and cudaProfilerStop (or the driver's cuProfiler…)
    #[arg(long, value_name = "RANGE")]
    capture_range: Option<CaptureRange>,

    /// Record from SECONDS after the start of each process on
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    delay: Option<String>,

    /// Stop recording SECONDS after the first recorded call of each process
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<String>,

    /// Leave out the first N kernel launches of each process
    #[arg(long, value_name = "N")]
    launch_skip: Option<u64>,

    /// Stop recording after N kernel launches of each process
    #[arg(long, value_name = "N")]
    launch_count: Option<u64>,

    /// Record nothing until `cushim ctl PID on`
    #[arg(long, value_name = "HOW")]
    start: Option<Start>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CaptureRange {
    /// Between the program's own calls of the profiler API
    #[value(name = "cudaProfilerApi")]
    ProfilerApi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Start {
    /// Switched off
    Paused,
}

impl WindowArgs {
    /// Adds the variables.
    pub fn put(&self, set: &mut Environment) {
        let mut add = |name, value: String| set.push((name, value.into()));
        if self.capture_range == Some(CaptureRange::ProfilerApi) {
            add("CUSHIM_CAPTURE_RANGE", "cudaProfilerApi".to_owned());
        }
        if let Some(delay) = &self.delay {
            add("CUSHIM_DELAY", delay.clone());
        }
        if let Some(duration) = &self.duration {
            add("CUSHIM_DURATION", duration.clone());
        }
        if let Some(skip) = self.launch_skip {
            add("CUSHIM_LAUNCH_SKIP", skip.to_string());
        }
        if let Some(count) = self.launch_count {
            add("CUSHIM_LAUNCH_COUNT", count.to_string());
        }
        if self.start == Some(Start::Paused) {
            add("CUSHIM_START", "paused".to_owned());
        }
    }

    /// Whether everything is recorded.
    pub fn is_everything(&self) -> bool {
        let mut set = Environment::new();
        self.put(&mut set);
        set.is_empty()
    }
}

/// Seconds such as `2` or `0.5`.
fn seconds(text: &str) -> Result<String, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(text.trim().to_owned()),
        _ => Err(format!("{text:?} is not a number of seconds; expected one such as 2 or 0.5")),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn numbers_of_seconds() {
        assert_eq!(seconds(" 0.5 ").as_deref(), Ok("0.5"));
        for bad in ["", "-1", "x", "1e12", "nan", "inf"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
