//! Measures how many lane-instructions per second one core executes, in loops of one kind of instruction each.
//!
//!     cargo run --release -p cushim-amdgpu --example speed

use std::time::Instant;

use cushim_amdgpu::exec::{Code, Group, run};
use cushim_amdgpu::lanes::Lanes;
use cushim_amdgpu::memory::{Checked, Memory, Range};
use cushim_amdgpu::wave::{State, Wave};

struct Buffer([Range; 2]);

// SAFETY: the ranges belong to buffers that live as long as the machine.
unsafe impl Memory for Buffer {
    fn find(&self, address: u64) -> Option<Range> {
        self.0.iter().copied().find(|range| range.start <= address && address < range.end)
    }

    fn interrupt(&self, _: u32) {}
}

/// Name and words of the repeated instructions.
const LOOPS: &[(&str, &[u32])] = &[
    ("v_add_u32", &[0x6802_0501]),
    ("v_fma_f32", &[0xd1cb_0001, 0x0406_0503]),
    ("v_mul_lo_u32", &[0xd285_0001, 0x0002_0503]),
    ("v_fma_f64", &[0xd1cc_0004, 0x0412_0d08]),
    ("v_cmp_lt_f32", &[0x7c82_0503]),
    ("v_exp_f32", &[0x7e02_4102]),
    ("global_load_dword", &[0xdc50_8000, 0x017f_0006]),
    ("ds_read_b32", &[0xd86c_0000, 0x0100_0000]),
];

/// s_sub_u32 s0, s0, 1; s_cmp_lg_u32 s0, 0; s_cbranch_scc1 back.
fn program(body: &[u32], copies: usize) -> Vec<u32> {
    let mut words: Vec<u32> = body.iter().copied().cycle().take(body.len() * copies).collect();
    words.extend([0x8080_8100, 0xbf07_8000]);
    words.push(0xbf85_0000 | (-(words.len() as i32) - 1) as u32 & 0xffff);
    words.extend([0xbf81_0000, 0, 0]);
    words
}

fn main() {
    const COPIES: usize = 16;
    const ROUNDS: u32 = 20_000;
    let mut heap = vec![0u64; 4096];
    for (name, body) in LOOPS {
        let words = program(body, COPIES);
        let code = Range {
            start: words.as_ptr() as u64,
            end: words.as_ptr() as u64 + 4 * words.len() as u64,
            write: false,
        };
        let data = Range {
            start: heap.as_mut_ptr() as u64,
            end: heap.as_mut_ptr() as u64 + 32768,
            write: true,
        };
        let machine = Buffer([code, data]);
        let mut wave = Wave::new();
        wave.pc = code.start;
        wave.s[0] = ROUNDS;
        wave.set_pair(126, u64::MAX);
        for lane in 0..64 {
            let address = data.start + 4 * lane as u64;
            wave.v[0][lane] = 4 * lane as u32;
            wave.v[6][lane] = address as u32;
            wave.v[7][lane] = (address >> 32) as u32;
        }
        let mut group = Group { memory: Checked::new(&machine), lds: vec![0; 1024], executed: 0 };
        let (mut blocks, mut lanes) = (Code::default(), Lanes::default());
        let begun = Instant::now();
        while wave.state != State::Ended {
            if let Err(stop) = run(&mut wave, &mut group, &mut blocks, &mut lanes, 1 << 20) {
                println!("{name}: {stop:?}");
                break;
            }
        }
        let time = begun.elapsed().as_secs_f64();
        println!(
            "{name:20} {:8.0} million lane-instructions a second",
            group.executed as f64 / time / 1e6
        );
    }
}
