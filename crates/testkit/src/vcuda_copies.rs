//! Copies and memsets with any arguments: every accepted call must be possible, and nothing panics.
//!
//! The fuzz target's body; the ordinary tests run it on fixed numbers. Addresses are near memory that the driver knows:
//! it cannot know the extent of the program's own memory.

use cushim_abi::types::*;
use vcuda::api;

/// Reads numbers from the input; zeros once it has ended.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A size: mostly small, sometimes an edge value.
    fn size(&mut self) -> usize {
        let (how, n) = (self.byte(), usize::from(self.byte()));
        match how % 16 {
            0 => usize::MAX - n,
            1 => isize::MAX as usize - n,
            2 => 1 << (n % 64),
            3 => u32::MAX as usize + n,
            4..=6 => n * 16,
            7 => 4096 - n.min(8),
            _ => n % 24,
        }
    }
}

/// The objects of the calls.
struct Ground {
    /// Device memory of 4,096 and of 1,000 bytes, host memory of 4,096.
    memory: [usize; 3],
    /// 16 by 8 bytes; 4 by 3 by 2 words.
    arrays: [usize; 2],
}

impl Ground {
    fn new() -> Ground {
        let (mut a, mut b, mut c, mut flat, mut deep) = (Ptr(0), Ptr(0), Ptr(0), Ptr(0), Ptr(0));
        let at = |form: &[u64; 5]| Ptr(form.as_ptr().expose_provenance());
        // SAFETY: the outputs and the descriptors are places of this function.
        unsafe {
            assert_eq!(api::cuMemAlloc_v2(Out(&raw mut a), 4096), 0);
            assert_eq!(api::cuMemAlloc_v2(Out(&raw mut b), 1000), 0);
            assert_eq!(api::cuMemHostAlloc(Out(&raw mut c), 4096, Flags(0)), 0);
            let form = [16, 8, 0, 1 | 1 << 32, 0];
            assert_eq!(api::cuArray3DCreate_v2(Out(&raw mut flat), at(&form)), 0);
            let form = [4, 3, 2, 3 | 1 << 32, 0];
            assert_eq!(api::cuArray3DCreate_v2(Out(&raw mut deep), at(&form)), 0);
        }
        Ground { memory: [a.0, b.0, c.0], arrays: [flat.0, deep.0] }
    }

    fn address(&self, input: &mut Input<'_>) -> usize {
        let base = self.memory[usize::from(input.byte()) % 3];
        match input.byte() % 8 {
            0 => 0,
            // Beyond the end, where the driver still knows the memory.
            1 if base != self.memory[2] => base + 4096 + usize::from(input.byte()),
            n @ 2..=4 => base + usize::from(n) * 8,
            _ => base,
        }
    }

    /// Eleven words of `CUDA_MEMCPY3D`.
    fn end(&self, input: &mut Input<'_>) -> [usize; 11] {
        let kind = [2, 3, 4, 2, 4, 0, 9][usize::from(input.byte()) % 7];
        let mut end = [0; 11];
        if input.byte().is_multiple_of(2) {
            end[..3].fill_with(|| input.size() % 8);
        } else {
            end[..4].fill_with(|| input.size());
        }
        (end[4], end[6]) = (kind, self.address(input));
        end[7] = match input.byte() % 8 {
            0 => 0,
            n => self.arrays[usize::from(n) % 2],
        };
        (end[9], end[10]) = (input.size(), input.size());
        end
    }
}

/// Makes calls until the input ends.
pub fn run(data: &[u8]) {
    let (ground, mut input) = (Ground::new(), Input(data));
    while !input.0.is_empty() {
        let which = input.byte();
        let (to, from) = (Ptr(ground.address(&mut input)), Ptr(ground.address(&mut input)));
        let (bytes, pitch, rows) = (input.size(), input.size(), input.size());
        let stream = Stream(usize::from(which >> 7) * 2);
        // SAFETY: the driver checks every address against its own table; the structures have CUDA's sizes, and of the
        // program's own memory they name only what was allocated here.
        let code = unsafe {
            match which % 16 {
                0 => api::cuMemcpyHtoD_v2(to, from, bytes),
                1 => api::cuMemcpyDtoH_v2(to, from, bytes),
                2 => api::cuMemcpyDtoD_v2(to, from, bytes),
                3 => api::cuMemcpy(to, from, bytes),
                4 => api::cuMemcpyAsync(to, from, bytes, stream),
                5 => api::cuMemsetD8_v2(to, which, bytes),
                6 => api::cuMemsetD16Async(to, 7, bytes, stream),
                7 => api::cuMemsetD32_v2(to, 7, bytes),
                8 => api::cuMemsetD2D8_v2(to, pitch, 1, bytes, rows),
                9 => api::cuMemsetD2D32Async(to, pitch, 1, bytes, rows, stream),
                10 => api::cuMemcpyAtoD_v2(to, Ptr(ground.arrays[0]), pitch, bytes),
                11 => api::cuMemcpyDtoA_v2(Ptr(ground.arrays[1]), pitch, from, bytes),
                12 => {
                    let (from, to) = (ground.end(&mut input), ground.end(&mut input));
                    let mut shape = [0; 16];
                    for (end, at) in [(from, 0), (to, 7)] {
                        let words = [end[0], end[1], end[4], end[5], end[6], end[7], end[9]];
                        shape[at..at + 7].copy_from_slice(&words);
                    }
                    shape[14..].copy_from_slice(&[bytes, rows]);
                    api::cuMemcpy2D_v2(Ptr(shape.as_ptr().expose_provenance()))
                }
                13 => {
                    let (to, from, sizes) = ([to.0, from.0], [from.0, to.0], [bytes, pitch]);
                    let (attributes, firsts) = ([[3i32, 0, 0, 0, 0, 0]], [rows % 2]);
                    let at = |list: &[usize]| Ptr(list.as_ptr().expose_provenance());
                    let attributes = Ptr(attributes.as_ptr().expose_provenance());
                    let (to, from, sizes, firsts) = (at(&to), at(&from), at(&sizes), at(&firsts));
                    let own = Stream(2);
                    api::cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, firsts, 1, own)
                }
                _ => {
                    let mut shape = [0; 25];
                    shape[..11].copy_from_slice(&ground.end(&mut input));
                    shape[11..22].copy_from_slice(&ground.end(&mut input));
                    shape[22..].copy_from_slice(&[bytes, rows, input.size()]);
                    api::cuMemcpy3DAsync_v2(Ptr(shape.as_ptr().expose_provenance()), stream)
                }
            }
        };
        assert!(matches!(code, 0 | 1 | 400), "call {} answered {code}", which % 16);
        // Accepted calls were possible: none of them broke the context.
        // SAFETY: takes nothing.
        assert_eq!(unsafe { api::cuCtxSynchronize() }, 0, "call {}", which % 16);
    }
    for at in &ground.memory[..2] {
        // SAFETY: allocated by `Ground::new`, and freed once.
        assert_eq!(unsafe { api::cuMemFree_v2(Ptr(*at)) }, 0);
    }
    // SAFETY: allocated by `Ground::new`, and freed once.
    assert_eq!(unsafe { api::cuMemFreeHost(Ptr(ground.memory[2])) }, 0);
    for array in ground.arrays {
        // SAFETY: made by `Ground::new`, and destroyed once.
        assert_eq!(unsafe { api::cuArrayDestroy(Ptr(array)) }, 0);
    }
}
