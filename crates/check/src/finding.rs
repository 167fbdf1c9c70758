//! A finding, and its line in the file.
//!
//! Owns the contents of a finding, which findings are the same, and the file's lines: each is a JSON object. Must not
//! know how anything was found.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use cushim_accel::Trail;
use cushim_accel::locks::lock;
use cushim_names::Name;
use cushim_ptx::exec::Spot;

use super::json::{Object, list};
use super::lines::Lines;
use super::options::Tool;
use super::trail;
use super::variable::Variable;

/// Stacks of the program, and what was done there.
pub type Trails = Vec<(String, Option<Trail>)>;

/// What was found.
#[derive(Debug, Clone)]
pub struct Finding {
    /// By which tool.
    pub tool: Tool,
    /// What kind of finding, in a word or two that never change.
    pub kind: &'static str,
    /// What was found, in a line.
    pub message: String,
    /// In which kernel.
    pub at: Option<At>,
    /// The variable concerned.
    pub variable: Option<Variable>,
    /// Further stacks, each with a description.
    pub trails: Trails,
}

/// Where in a kernel.
#[derive(Debug, Clone)]
pub struct At {
    /// The kernel, as its symbol is called.
    pub kernel: String,
    /// The block.
    pub block: [u32; 3],
    /// The thread in it.
    pub thread: [u32; 3],
    /// The instruction, if it is one's.
    pub spot: Option<Spot>,
}

impl Finding {
    /// The key of findings that are reported once: one check and kind at one position of the code.
    fn key(&self) -> String {
        let place = match &self.at {
            Some(at) => {
                // A line of the source may be many instructions.
                let spot = at.spot.as_ref().map(|spot| match &spot.source[..] {
                    [] => format!("PTX {} of text {}", spot.pos, spot.text),
                    lines => format!("{lines:?}"),
                });
                format!("{} {}", at.kernel, spot.unwrap_or_default())
            }
            None => {
                let first = self.trails.first().and_then(|(_, trail)| trail.as_ref());
                first.map_or(self.message.clone(), |trail| format!("{:?}", trail::frames(trail)))
            }
        };
        format!("{} {} {place}", self.tool.word(), self.kind)
    }

    /// As [`Self::key`], and the same for findings of one stack of the host each.
    fn key_with_stacks(&self, key: &str) -> String {
        let frames = |(_, trail): &(String, Option<Trail>)| trail.as_ref().map(trail::frames);
        let all: Vec<_> = self.trails.iter().map(frames).collect();
        format!("{key} {all:?}")
    }

    fn line(&self, key: &str, fold: Option<&str>) -> String {
        let mut line = Object::new()
            .raw("pid", std::process::id())
            .text("key", key)
            .maybe("fold", fold)
            .text("tool", self.tool.word())
            .text("kind", self.kind)
            .text("message", &self.message);
        if let Some(at) = &self.at {
            let three = |n: [u32; 3]| list(n.iter().map(u32::to_string));
            line = line
                .text("kernel", &Name::new(&at.kernel).full)
                .text("symbol", &at.kernel)
                .raw("block", three(at.block))
                .raw("thread", three(at.thread));
            if let Some(spot) = &at.spot {
                let function = spot.function.as_deref().map(|name| Name::new(name).full);
                line = line.text("place", &spot.to_string()).maybe("function", function.as_deref());
                if let Some(source) = spot.source.first() {
                    line = line.text("file", &source.file).raw("line", source.line);
                }
            }
        }
        if let Some(variable) = &self.variable {
            line = line.raw("variable", variable.json());
        }
        let trails = self.trails.iter().map(|(what, trail)| {
            let frames = trail.as_ref().map(trail::frames).unwrap_or_default();
            let own = frames.own.iter().map(|frame| {
                Object::new()
                    .text("function", &frame.function)
                    .maybe("place", frame.place.as_deref())
                    .end()
            });
            let what = Object::new().text("what", what).maybe("call", frames.call.as_deref());
            what.raw("frames", list(own)).end()
        });
        line.raw("trails", list(trails)).end()
    }
}

/// Tells findings.
#[derive(Debug)]
pub struct Findings {
    file: Lines,
    /// How often each was found, by key.
    told: Mutex<HashMap<String, u64>>,
    /// Findings in kernels are distinguished by the host's stacks.
    stacks: bool,
}

impl Findings {
    /// Opens an existing file that is no link. `None` if it cannot be written.
    pub fn open(path: &Path, stacks: bool) -> Option<Findings> {
        let findings = Findings { file: Lines::open(path)?, told: Mutex::default(), stacks };
        findings.file.write(Object::new().raw("begin", std::process::id()).end());
        Some(findings)
    }

    /// Reports a finding, unless it was reported before.
    pub fn tell(&self, finding: &Finding) {
        let mut key = finding.key();
        let mut fold = None;
        if self.stacks && finding.at.is_some() {
            fold = Some(std::mem::take(&mut key));
            key = finding.key_with_stacks(fold.as_deref().unwrap_or_default());
        }
        let first = {
            let mut told = lock(&self.told);
            let count = told.entry(key.clone()).or_default();
            *count += 1;
            *count == 1
        };
        if first {
            self.file.write(finding.line(&key, fold.as_deref()));
        }
    }

    /// Tells the reader of the file that nothing can be found.
    pub fn none(&self) {
        self.file.mark_missing();
    }

    /// The process ends: how often each was found.
    pub fn end(&self) {
        let told = std::mem::take(&mut *lock(&self.told));
        for (key, count) in told.into_iter().filter(|(_, count)| *count > 1) {
            let line = Object::new().raw("pid", std::process::id()).text("key", &key);
            self.file.write(line.raw("count", count).end());
        }
        self.file.write(Object::new().raw("end", std::process::id()).end());
    }
}

/// What an address is near to.
#[derive(Debug, Clone, Default)]
pub struct Near {
    /// In words.
    pub text: String,
    /// The stacks of its allocation and free.
    pub trails: Trails,
    /// The variable, if it is one.
    pub variable: Option<Variable>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn finding(thread: u32) -> Finding {
        let at =
            At { kernel: "_Z3addv".into(), block: [1, 0, 0], thread: [thread, 0, 0], spot: None };
        let trails = vec![("launched".into(), None)];
        let message = "a \"thing\"".into();
        let variable = Some(Variable { symbol: "v".into(), space: "shared", offset: -4, bytes: 8 });
        Finding { tool: Tool::Memory, kind: "kind", message, at: Some(at), variable, trails }
    }

    #[test]
    fn equal_findings_are_told_once_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("findings");
        assert!(Findings::open(&path, false).is_none(), "it has to be there");
        std::fs::write(&path, "").unwrap();
        let findings = Findings::open(&path, false).unwrap();
        (0..3).for_each(|thread| findings.tell(&finding(thread)));
        findings.end();
        let text = std::fs::read_to_string(&path).unwrap();
        let pid = std::process::id();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0], format!("{{\"begin\":{pid}}}"));
        let start = format!("{{\"pid\":{pid},\"key\":\"memory kind _Z3addv \",");
        let rest = "\"tool\":\"memory\",\"kind\":\"kind\",\"message\":\"a \\\"thing\\\"\",\
                    \"kernel\":\"add()\",\"symbol\":\"_Z3addv\",\"block\":[1,0,0],\"thread\":[0,0,0],\
                    \"variable\":{\"name\":\"v\",\"symbol\":\"v\",\"space\":\"shared\",\"offset\":-4,\"bytes\":8},\
                    \"trails\":[{\"what\":\"launched\",\"frames\":[]}]}";
        assert_eq!(lines[1], format!("{start}{rest}"));
        assert_eq!(lines[2], format!("{start}\"count\":3}}"));
        assert_eq!(lines[3], format!("{{\"end\":{pid}}}"));
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("findings"), folder.path().join("link"));
        std::fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Findings::open(&link, false).is_none());
    }
}
