//! Functions of the device runtime that kernels call.

use super::helpers::{lanes, warp};
use super::warp::Warp;
use cushim_ptx::interp::{Cause, printf};
use cushim_ptx::ir::{Callee, Src};

impl Warp {
    /// A string that ends with a zero byte; what is not mapped ends it too.
    fn string(&self, lane: usize, address: u64) -> Vec<u8> {
        const LONGEST: u64 = 1 << 20;
        let mut out = Vec::new();
        for k in 0..LONGEST {
            let mut byte = [0];
            if self.read(lane, address.wrapping_add(k), &mut byte).is_err() || byte[0] == 0 {
                break;
            }
            out.push(byte[0]);
        }
        out
    }
}

/// Calls what the module does not define. Arguments lie in the slots, the result goes to the first.
pub(super) unsafe fn call(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let exec = w.exec();
    let Some(Src::Call(call)) = site.inst.src.first() else { return 0 };
    let Callee::Direct(f) = call.callee else {
        // The one argument is what was taken for a function.
        let Some(lane) = lanes(mask).next() else { return 0 };
        let value = w.value(0, site.operands[0], lane);
        return w.fail(site, lane, Cause::FunctionPointer { value });
    };
    let name = exec.launch.module.functions[f as usize].name.as_str();
    for l in lanes(mask) {
        let arg = |w: &Warp, n: usize| site.operands.get(n).map_or(0, |c| w.value(n, *c, l));
        let result = match name {
            "vprintf" => {
                let format = w.string(l, arg(w, 0));
                let read = |address: u64, out: &mut [u8]| w.read(l, address, out).is_ok();
                let text = |address| w.string(l, address);
                let (out, count) = printf::format(&format, arg(w, 1), &read, &text);
                exec.host.print(&out);
                count.into()
            }
            "malloc" => exec.host.allocate(arg(w, 0)),
            "free" => {
                exec.host.free(arg(w, 0));
                0
            }
            "__assertfail" => {
                let text = |n| String::from_utf8_lossy(&w.string(l, arg(w, n))).into_owned();
                let (file, function, message) = (text(1), text(3), text(0));
                let line = arg(w, 2) as u32;
                let fault = w.fault_at(site, l, Cause::Assert);
                let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
                exec.host.assert_failed(&format!(
                    "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: \
                     [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
                ));
                return w.fail(site, l, Cause::Assert);
            }
            _ => return w.fail(site, l, Cause::Undefined { function: name.into() }),
        };
        w.results[0][l] = result;
    }
    w.publish(site, mask);
    0
}
