//! Compares the integer implementation of floating point with the host's, and its
//! directed roundings with the exact order of numbers.

use cushim_ptx::soft::{self, Format, Round};

/// Random bits with many edge values: extreme exponents, long runs of ones.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn f32(&mut self) -> u32 {
        let v = self.next();
        let exponent = match v >> 60 {
            0 => 0,
            1 => 255,
            2 | 3 => (v >> 40) as u32 & 3,
            4..=9 => 120 + ((v >> 40) as u32 & 15),
            _ => (v >> 40) as u32 & 255,
        };
        let fraction = if v >> 32 & 7 == 0 { 0x7f_ffff << (v >> 35 & 15) } else { v as u32 };
        ((v >> 59) as u32 & 1) << 31 | exponent << 23 | fraction & 0x7f_ffff
    }

    fn f64(&mut self) -> u64 {
        let v = self.next();
        let exponent = match self.next() % 8 {
            0 => 0,
            1 => 2047,
            2..=5 => 1000 + (self.next() & 63),
            _ => self.next() & 2047,
        };
        (v & 1 << 63) | exponent << 52 | v & ((1 << 52) - 1)
    }
}

fn same32(got: u64, host: f32, what: &str) {
    if host.is_nan() {
        assert_eq!(got, 0x7fff_ffff, "{what}");
    } else {
        assert_eq!(got as u32, host.to_bits(), "{what}");
    }
}

#[test]
fn to_nearest_it_is_the_host() {
    let mut r = Random(0x9e37_79b9_7f4a_7c15);
    let one = u64::from(1f32.to_bits());
    for _ in 0..200_000 {
        let (a, b, c) = (r.f32(), r.f32(), r.f32());
        let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        let (a, b, c) = (u64::from(a), u64::from(b), u64::from(c));
        let what = format!("{a:#x} {b:#x} {c:#x}");
        let near = Round::Nearest;
        same32(soft::fma(a, one, b, Format::F32, near), x + y, &what);
        same32(soft::fma(a, b, c, Format::F32, near), x.mul_add(y, z), &what);
        same32(soft::div(a, b, Format::F32, near), x / y, &what);
        same32(soft::sqrt(a, Format::F32, near), x.sqrt(), &what);
        let (a, b, c) = (r.f64(), r.f64(), r.f64());
        let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
        for (got, host) in [
            (soft::fma(a, b, c, Format::F64, near), x.mul_add(y, z)),
            (soft::div(a, b, Format::F64, near), x / y),
            (soft::sqrt(a, Format::F64, near), x.sqrt()),
        ] {
            let got = f64::from_bits(got);
            assert!(
                got.to_bits() == host.to_bits() || got.is_nan() && host.is_nan(),
                "{x} {y} {z}"
            );
        }
        same32(soft::convert(a, Format::F64, Format::F32, near), x as f32, "narrow");
    }
}

#[test]
fn directed_roundings_enclose_the_exact_result() {
    let mut r = Random(42);
    let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
    for _ in 0..100_000 {
        let (a, b) = (u64::from(r.f32()), u64::from(r.f32()));
        // A product of singles is exact in double precision.
        let exact = value(a) * value(b);
        if exact.is_nan() || exact.is_infinite() {
            continue;
        }
        let zero = (a ^ b) & 1 << 31;
        let at = |round| value(soft::fma(a, b, zero, Format::F32, round));
        let (down, up, inward) = (at(Round::Down), at(Round::Up), at(Round::Zero));
        assert!(down <= exact && exact <= up, "{a:#x} {b:#x}");
        assert_eq!(inward, if exact < 0.0 { up } else { down }, "{a:#x} {b:#x}");
        // If they differ, they are neighbours.
        if down != up {
            assert_eq!((down as f32).next_up(), up as f32, "{a:#x} {b:#x}");
        }
    }
}

#[test]
fn every_half_survives_and_integers_round() {
    for bits in 0..=0xffffu64 {
        for f in [Format::F16, Format::BF16] {
            let wide = soft::convert(bits, f, Format::F32, Round::Nearest);
            let back = soft::convert(wide, Format::F32, f, Round::Down);
            assert_eq!(back, if f.is_nan(bits) { f.nan() } else { bits });
        }
    }
    let mut r = Random(7);
    for _ in 0..100_000 {
        let shift = r.next() % 64;
        let v = r.next() >> shift;
        let got = soft::from_int(false, v, Format::F32, Round::Nearest);
        assert_eq!(got as u32, (v as f32).to_bits());
        let x = r.f64();
        let h = f64::from_bits(x);
        let got = soft::to_int(x, Format::F64, Round::Nearest);
        match got {
            None => assert!(h.is_nan()),
            Some((negative, n)) if n < 1 << 53 => {
                let n = n as f64;
                assert_eq!(if negative { -n } else { n }, h.round_ties_even(), "{h}");
            }
            Some(_) => assert!(h.abs() >= 2f64.powi(53)),
        }
    }
}
