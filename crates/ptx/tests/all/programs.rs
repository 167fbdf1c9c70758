//! Whole kernels from `features.cu`, compiled by nvcc of every installed
//! toolkit: the results equal the host's. Usually code for debuggers (`-G`) is the newest toolkit's alone.

use crate::common;

use common::device::Device;
use cushim_testkit::sample;
use std::path::Path;

fn each(test: impl Fn(&str) + Sync) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/features.cu");
    std::thread::scope(|s| {
        let newest = common::newest();
        for (nvcc, arch) in common::toolkits() {
            let (source, test) = (&source, &test);
            let debug = sample::all() || newest.as_ref().is_some_and(|(n, _)| *n == nvcc);
            s.spawn(move || {
                for flags in [&[][..], &["-G"]].into_iter().take(1 + usize::from(debug)) {
                    test(&common::ptx(&nvcc, arch, source, flags).unwrap());
                }
            });
        }
    });
}

#[test]
fn features() {
    each(|text| {
        recursion_and_pointers(text);
        printing(text);
        reduction(text);
        grid_sync(text);
        lock(text);
        mathematics(text);
        half_precision(text);
        votes(text);
        the_rest(text);
    });
}

fn recursion_and_pointers(text: &str) {
    let d = Device::new(text);
    let out = d.alloc(4 * 64);
    d.launch("k_rec", 1, 20, &[out]).unwrap();
    let mut fib = vec![0u32, 1];
    (2..20).for_each(|n| fib.push(fib[n - 1] + fib[n - 2]));
    assert_eq!(d.u32s(out, 20), fib);
    d.launch("k_fp", 1, 64, &[out]).unwrap();
    let expected: Vec<u32> = (0..64).map(|i| if i & 1 == 0 { 2 * i } else { i * i }).collect();
    assert_eq!(d.u32s(out, 64), expected);
}

fn printing(text: &str) {
    let d = Device::new(text);
    d.launch("k_printf", 1, 2, &[u64::from(1.5f32.to_bits())]).unwrap();
    let text = String::from_utf8(d.printed.take()).unwrap();
    assert_eq!(text, "hi 0 1.500000 str\nhi 1 1.500000 str\n");
}

fn reduction(text: &str) {
    let d = Device::new(text);
    let n = 4 * 256;
    let values: Vec<f32> = (0..n).map(|i| (i % 17) as f32).collect();
    let (input, out) = (d.upload(&values, |v| v.to_le_bytes()), d.alloc(4));
    d.launch_with("k_reduce", [4, 1, 1], [256, 1, 1], 1024, false, &[input, out]).unwrap();
    let sum = |b: usize| values[b * 256..(b + 1) * 256].iter().sum::<f32>() * (b + 1) as f32;
    assert_eq!(d.f32s(out, 1), [(0..4).map(sum).sum::<f32>()]);
}

fn grid_sync(text: &str) {
    let d = Device::new(text);
    let data = d.alloc(4 * 8 * 64);
    d.launch_with("k_grid", [8, 1, 1], [64, 1, 1], 0, true, &[data]).unwrap();
    assert_eq!(d.u32s(data, 2), [8 * 64, 1]);
}

fn lock(text: &str) {
    let d = Device::new(text);
    let (lock, count) = (d.alloc(4), d.alloc(4));
    d.launch("k_lock", 3, 96, &[lock, count]).unwrap();
    assert_eq!(d.u32s(count, 1), [3 * 96]);
}

fn mathematics(text: &str) {
    let d = Device::new(text);
    let x: Vec<f64> = (0..32).map(|i| 0.1 + f64::from(i) * 1.7).collect();
    let (dx, fx) =
        (d.upload(&x, |v| v.to_le_bytes()), d.upload(&x, |v| (*v as f32 / 20.0).to_le_bytes()));
    d.launch("k_math", 1, 32, &[dx, fx, 3]).unwrap();
    let got: Vec<f64> = d.u64s(dx, 32).into_iter().map(f64::from_bits).collect();
    let gotf = d.f32s(fx, 32);
    for i in 0..32 {
        let v = x[i];
        let expected = v.sin() + v.powf(2.5) / (3 + i) as f64 + v.sqrt();
        assert!((got[i] - expected).abs() <= 1e-13 * expected.abs(), "{i}: {} {expected}", got[i]);
        let f = (v as f32 / 20.0) as f64;
        let g = f.sin() + f.exp() + 1.0 / f.sqrt() + f / 3.0 + f.tanh() + f.ln();
        let g = g + f % 3.0;
        let whole = g as u64 % 7;
        let g = g + (expected as i64 / 3) as f64 + whole as f64;
        assert!((f64::from(gotf[i]) - g).abs() <= 2e-5 * g.abs(), "{i}: {} {g}", gotf[i]);
    }
}

fn half_precision(text: &str) {
    let d = Device::new(text);
    // 1.5 and -2 as halves; 3 and 0.5 as bfloat16.
    let h = d.upload(&[0xc000_3e00u32; 32], |v| v.to_le_bytes());
    let b = d.upload(&[0x3f00_4040u32; 32], |v| v.to_le_bytes());
    let out = d.alloc(4 * 32);
    d.launch("k_half", 1, 32, &[h, b, out]).unwrap();
    assert_eq!(d.f32s(out, 32), [1.5 * 1.5 + 1.5 + 4.0 - 2.0; 32]);
    assert_eq!(d.u32s(b, 1), [0x3f80_40c0]);
}

fn votes(text: &str) {
    let d = Device::new(text);
    let out = d.alloc(4 * 8);
    d.launch("k_vote", 1, 32, &[out]).unwrap();
    let got = d.u32s(out, 5);
    assert_eq!((got[0], got[1], got[3], got[4]), (0xaaaa_aaaa, 1, 31 * 16, 5));
    // Lanes write one after another: the last group's value stays.
    assert_eq!(got[2], 0xf000_0000);
    let fault = d.launch("k_vote", 1, 96, &[out]).unwrap_err().to_string();
    assert!(fault.starts_with("trap; kernel ") && fault.contains("thread (77,0,0), "), "{fault}");
}

fn the_rest(text: &str) {
    let d = Device::new(text);
    let out = d.alloc(4 * 64);
    for (a, place, value) in [(0, 0, 5), (3, 9, 11), (4, 1, 88), (5, 3, 4), (77, 0, u32::MAX)] {
        d.launch("k_switch", 1, 1, &[out, a]).unwrap();
        assert_eq!(d.u32s(out, 10)[place], value, "{a}");
    }
    let pointers = d.alloc(8 * 32);
    d.launch("k_malloc", 1, 32, &[pointers]).unwrap();
    for p in d.u64s(pointers, 32) {
        assert_eq!(d.u32s(p, 1), [3]);
    }
    d.launch("k_asm", 1, 32, &[out]).unwrap();
    assert_eq!(d.u32s(out, 1), [31 + 18]);
    let fault = d.launch("k_asm", 1, 32, &[0x1234]).unwrap_err().to_string();
    assert!(fault.contains("kernel _Z5k_asmPj") && fault.contains("0x1234"), "{fault}");
}
