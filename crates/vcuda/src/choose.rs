//! The choice of the process's CUDA driver: NVIDIA's, or cushim's over an accelerator.
//!
//! Owns the choice, made once at the first call that needs a driver, and the list of accelerators. `CUSHIM_BACKEND`
//! names one; without it, the choice is NVIDIA's driver if a libcuda is installed, else the CPU. If an installed
//! driver does not load, that is an error; the CPU never replaces it silently.
//!
//! Must not know: what the functions do.

use std::sync::{Mutex, OnceLock};

use cushim_accel::Accelerator;
use cushim_accel::locks::lock;
use cushim_accel::say;
use cushim_vbase::api;
use cushim_vbase::backend::{self, Backend};
use cushim_vdriver as driver;

use crate::nvidia;

static START: OnceLock<()> = OnceLock::new();

/// An accelerator that may be chosen.
#[derive(Clone, Copy)]
struct Offer {
    /// As `CUSHIM_BACKEND` spells it.
    name: &'static str,
    make: driver::Make,
}

/// The accelerators that cushim ships.
const SHIPPED: [Offer; 2] = [Offer { name: "cpu", make: cpu }, Offer { name: "hsa", make: hsa }];

/// Accelerators that other code adds: tests.
static OTHERS: Mutex<Vec<Offer>> = Mutex::new(Vec::new());

fn cpu() -> Box<dyn Accelerator> {
    Box::new(cushim_accel_cpu::new())
}

fn hsa() -> Box<dyn Accelerator> {
    Box::new(cushim_accel_hsa::new())
}

/// Adds an accelerator that `CUSHIM_BACKEND` may name, before the first call of CUDA.
pub fn offer(name: &'static str, make: driver::Make) {
    lock(&OTHERS).push(Offer { name, make });
}

/// What the environment asks for; `None` if this crate chooses.
enum Asked {
    Driver,
    Accelerator(Offer),
}

fn asked() -> Option<Asked> {
    let text = std::env::var("CUSHIM_BACKEND").ok().filter(|text| !text.is_empty())?;
    if text == "auto" {
        return None;
    }
    if text == "driver" {
        return Some(Asked::Driver);
    }
    let others = lock(&OTHERS).clone();
    let found = SHIPPED.into_iter().chain(others).find(|offer| offer.name == text);
    if found.is_none() {
        say(&format!("CUSHIM_BACKEND={text}: expected driver, cpu, hsa or auto; using auto"));
    }
    found.map(Asked::Accelerator)
}

/// Chooses and fills the table of driver functions. Every caller returns with it filled.
///
/// The first caller may load libcuda, as NVIDIA's runtime does at the same point.
#[cold]
pub fn start() {
    START.get_or_init(|| {
        let library = nvidia::find();
        match (asked(), &library) {
            (Some(Asked::Accelerator(offer)), _) => ours(offer),
            (None, None) => {
                let [cpu, _] = SHIPPED;
                ours(cpu);
            }
            (Some(Asked::Driver), _) | (None, Some(_)) => nvidias(library.as_deref()),
        }
    });
}

/// Our driver over an accelerator.
fn ours(offer: Offer) {
    driver::stand_on(offer.make);
    backend::choose(Backend::Accelerator(offer.name));
    // SAFETY: the rows of our driver's table, whose signatures the compiler compares.
    unsafe { api::fill(driver::function) };
}

/// NVIDIA's driver; if there is none, functions that return an error.
fn nvidias(library: Option<&std::path::Path>) {
    backend::choose(Backend::Driver);
    let why = match library.map(nvidia::open) {
        Some(Ok(object)) => {
            let found =
                |index| nvidia::function(&object, index).or_else(|| driver::unsupported(index));
            // SAFETY: what libcuda exports under the name of a row, whose signature is from its headers; else a row of
            // our own table. libcuda is never closed.
            return unsafe { api::fill(found) };
        }
        Some(Err(why)) => why,
        None => String::from("backend driver: no libcuda.so.1 is installed"),
    };
    say(&why);
    // SAFETY: the rows of a table of ours, whose signatures the compiler compares.
    unsafe { api::fill(driver::absent) };
}
