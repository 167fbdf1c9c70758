//! `cushim replay`: runs one captured launch alone, to try a rewritten kernel without the program.
//!
//! Owns: running it, timing it, comparing what it writes with what was captured. Must not know: how it was captured,
//! how the folder is laid out ([`folder`]), how the driver is called ([`driver`](crate::driver)).

pub mod folder;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cushim_names::Name;
use cushim_rules::{Compare, Element};

use crate::driver::Driver;
use crate::shape;
use crate::{Error, Outcome, complain, environ};
use folder::Folder;

/// Arguments of `cushim replay`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER)]
pub struct ReplayArgs {
    /// The folder of a captured launch
    folder: PathBuf,

    /// Take the kernel from FILE (PTX, cubin, fat binary) instead of the captured image
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,

    /// The kernel's symbol, if it differs from the captured one
    #[arg(long, value_name = "SYMBOL")]
    kernel: Option<String>,

    /// Launch so many blocks instead of the captured number
    #[arg(long, value_name = "X,Y,Z", value_parser = shape::parse)]
    grid: Option<[u32; 3]>,

    /// Launch blocks of so many threads
    #[arg(long, value_name = "X,Y,Z", value_parser = shape::parse)]
    block: Option<[u32; 3]>,

    /// Launch with so many bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES")]
    shared: Option<u32>,

    /// Time N launches
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeat: u32,

    /// What the buffers hold
    #[arg(long = "type", value_name = "TYPE", default_value = "bytes")]
    element: Type,

    /// The largest difference that counts as alike
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    tolerance: f64,

    /// The number of the device
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: i32,

    /// The driver library
    #[arg(long, value_name = "FILE", default_value = "libcuda.so.1")]
    driver: PathBuf,
}

/// What buffers hold, as manifests call it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Type {
    Bytes,
    F16,
    Bf16,
    F32,
    F64,
    I32,
    I64,
}

const AFTER: &str = "\
A launch is captured by the tool libcushim_capture.so, which is beside cushim's library:

  CAPTURE_KERNEL=vecadd cushim trace --tool libcushim_capture.so ./app
  cushim replay capture                          as it was: the outputs must be those of the program
  cushim replay --image new.ptx capture          another kernel on the same data
  cushim replay --type f32 --tolerance 1e-5 --image new.ptx capture

CAPTURE_KERNEL is part of the kernel's name, CAPTURE_NTH which of its launches, CAPTURE_DIR where to.

Exit status: 1 where an output differs from the captured one.";

/// The variables of an image that a program can set, without compilers' texts.
fn variables(image: &[u8]) -> Vec<String> {
    let names = cushim_bind::theirs(image, &cushim_image::Limits::DEFAULT).variables.into_keys();
    names.filter(|name| !name.starts_with('$') && !name.starts_with("__unnamed_")).collect()
}

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Outcome {
    if !(args.tolerance >= 0.0 && args.tolerance.is_finite()) {
        return Err(Error::Usage(format!("--tolerance {}: expected 0 or more", args.tolerance)));
    }
    let captured = Folder::read(&args.folder)?;
    let launch = &captured.launch;
    let image = match &args.image {
        Some(file) => std::fs::read(file).map_err(|e| Error::io("read", file, e))?,
        None => captured.image.clone(),
    };
    let kernel = args.kernel.as_deref().unwrap_or(&launch.kernel);
    let grid = args.grid.unwrap_or(launch.grid);
    let block = args.block.unwrap_or(launch.block);
    let shared = args.shared.unwrap_or(launch.shared);

    let values = variables(&image);
    if !values.is_empty() {
        complain(&format!(
            "variables are not captured: {} have their initial values from the image, not those in the program",
            values.join(", ")
        ));
    }
    // SAFETY: reading a folder starts no thread.
    unsafe { environ::remember() };
    let mut driver = Driver::open(&args.driver, args.device)?;
    let function = driver.kernel(image, kernel, shared)?;
    let mut arguments = captured.arguments.clone();
    let mut places = Vec::new();
    for (buffer, content) in launch.buffers.iter().zip(&captured.buffers) {
        let at = driver.allocate(content.before.len())?;
        for pointer in &buffer.pointers {
            let value = at.wrapping_add(pointer.offset).to_le_bytes();
            // `folder` has checked that this is inside.
            arguments[pointer.at..pointer.at + value.len()].copy_from_slice(&value);
        }
        places.push(at);
    }
    let offsets: Vec<usize> = launch.parameters.iter().map(|p| p.offset as usize).collect();
    let fill = |driver: &Driver| {
        let contents = places.iter().zip(&captured.buffers);
        contents.into_iter().try_for_each(|(at, content)| driver.write(*at, &content.before))
    };
    let once = |driver: &Driver| {
        fill(driver)?;
        driver.launch(function, grid, block, shared, &mut arguments.clone(), &offsets)
    };

    let first = once(&driver)?;
    let compare =
        Compare { element: element(args.element), tolerance: args.tolerance, ..Compare::default() };
    let mut out = format!(
        "{}<<<({}), ({}), {shared}>>>\n",
        Name::new(kernel).full,
        grid.map(|n| n.to_string()).join(", "),
        block.map(|n| n.to_string()).join(", ")
    );
    let differing = outputs(&mut out, &driver, &compare, &places, &captured)?;
    let mut times = (0..args.repeat).map(|_| once(&driver)).collect::<Result<Vec<f32>, Error>>()?;
    times.sort_by(f32::total_cmp);
    speed(&mut out, &times, first);
    crate::print(cushim_names::lines(&out).as_bytes())?;
    Ok(u8::from(differing > 0))
}

/// Says which outputs differ from the captured ones, and how many do.
fn outputs(
    out: &mut String,
    driver: &Driver,
    compare: &Compare,
    places: &[u64],
    captured: &Folder,
) -> Result<u32, Error> {
    let mut differing = 0;
    for (number, (at, content)) in places.iter().zip(&captured.buffers).enumerate() {
        let result = driver.read(*at, content.after.len())?;
        let Some(found) = compare.differ(&content.after, &result) else { continue };
        differing += 1;
        let _ = writeln!(
            out,
            "buffer {number}: {} of {} elements differ, by {} at most, at element {}: captured {}, now {}",
            found.count, found.of, found.largest, found.at, found.values.0, found.values.1
        );
    }
    if differing == 0 {
        let _ = writeln!(out, "outputs: as captured ({} buffers)", places.len());
    }
    Ok(differing)
}

/// Says how long launches took, in seconds: sorted, and the first of all.
fn speed(out: &mut String, times: &[f32], first: f32) {
    if let (Some(least), Some(most)) = (times.first(), times.last()) {
        let median = times[times.len() / 2];
        let _ = writeln!(
            out,
            "{} launches: {:.3} µs at least, {:.3} median, {:.3} at most (the first took {:.3})",
            times.len(),
            least * 1e3,
            median * 1e3,
            most * 1e3,
            first * 1e3
        );
    }
}

fn element(given: Type) -> Element {
    match given {
        Type::Bytes => Element::Bytes,
        Type::F16 => Element::F16,
        Type::Bf16 => Element::BF16,
        Type::F32 => Element::F32,
        Type::F64 => Element::F64,
        Type::I32 => Element::I32,
        Type::I64 => Element::I64,
    }
}
