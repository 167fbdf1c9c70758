//! Runs a program's kernels; for each, a host thread answers the program's requests.
//!
//! Owns: the order of kernels, and how the process ends when the program does. Must not know: how a request is
//! answered.

use cushim_rpc::{End, Line, Server};

use super::DIED;
use super::begin::Values;
use super::host::{Client, LoadHost};
use super::image::Image;
use crate::driver::{Driver, Module, Stream};
use crate::{Error, Outcome, complain};

/// A loaded program.
pub struct Program<'a> {
    /// The driver that loaded it.
    pub driver: &'a Driver,
    /// The image.
    pub module: Module,
    /// What was read from the image.
    pub image: &'a Image,
    /// Its RPC connection; none where it uses none.
    pub client: Option<Client>,
}

/// A kernel's parameters: their addresses.
type Params = Vec<*mut u8>;

impl Program<'_> {
    /// Runs it, and returns its exit status.
    pub fn run(
        &self,
        mut server: Server<LoadHost<'_>>,
        values: &Values,
        blocks: [u32; 3],
        threads: [u32; 3],
    ) -> Outcome {
        let Values { mut argc, mut argv, mut envp, mut status } = *values;
        let stream = self.driver.stream()?;
        let word = |value: &mut u64| -> *mut u8 { std::ptr::from_mut(value).cast() };
        let all: Params = vec![
            std::ptr::from_mut(&mut argc).cast(),
            word(&mut argv),
            word(&mut envp),
            word(&mut status),
        ];
        let one = [1; 3];
        if let Some(kernel) = self.image.begin {
            let count = if kernel == "_begin" { 3 } else { 0 };
            self.kernel(&mut server, kernel, [one; 2], &mut all[..count].to_vec(), stream)?;
        }
        self.kernel(&mut server, "_start", [blocks, threads], &mut all.clone(), stream)?;
        let bytes = self.driver.read(values.status, size_of::<i32>())?;
        let mut answered = i32::from_le_bytes(bytes.try_into().unwrap_or_default());
        if let Some(kernel) = self.image.end {
            let given = [std::ptr::from_mut(&mut answered).cast()];
            let mut params = given[..self.image.end_params].to_vec();
            self.kernel(&mut server, kernel, [one; 2], &mut params, stream)?;
        }
        flush();
        // The operating system keeps only the low bits of an exit status.
        Ok(answered as u8)
    }

    /// Runs one kernel to its end. Another thread serves the program's requests, since this one
    /// waits; it ends with the kernel, however that ends.
    fn kernel(
        &self,
        server: &mut Server<LoadHost<'_>>,
        name: &str,
        [blocks, threads]: [[u32; 3]; 2],
        params: &mut Params,
        stream: Stream,
    ) -> Result<(), Error> {
        let found = self.driver.find(self.module, name)?;
        let function =
            found.ok_or_else(|| Error::Usage(format!("the image has no kernel {name}")))?;
        let line = self.client.as_ref().map(|client| &client.line);
        let ran = std::thread::scope(|scope| {
            if let Some(line) = line {
                line.begin();
                scope.spawn(move || serve(self.driver, server, line));
            }
            let ran = self
                .driver
                .start(function, blocks, threads, params, stream)
                .and_then(|()| self.driver.wait(stream));
            if let Some(line) = line {
                line.end();
            }
            ran
        });
        ran.inspect_err(|error| {
            flush();
            complain(&format!("the program ended in its kernel {name}: {error}"));
            end(DIED);
        })
    }
}

/// Serves until the kernel has ended, or ends the process with the program.
fn serve(driver: &Driver, server: &mut Server<LoadHost<'_>>, line: &Line) {
    if let Err(error) = driver.enter() {
        complain(&format!("nothing the program asks for can be answered: {error}"));
        end(crate::OWN_FAILURE);
    }
    let status = match server.serve(line) {
        End::Done => return,
        End::Exit(status) => status as u8,
        End::Abort => {
            flush();
            DIED
        }
        End::Fault(fault) => {
            flush();
            complain(&format!("the program was ended: {fault}"));
            DIED
        }
    };
    flush();
    end(status);
}

/// Flushes C's streams.
fn flush() {
    // SAFETY: null means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Ends the process at once: a kernel may still run, and nothing that runs at exit may wait for it.
fn end(status: u8) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(i32::from(status)) }
}
