//! Sums, products, fused multiply-adds, quotients and roots of singles and doubles in all four roundings: compares translated
//! code on the emulated GPU, and the interpreter, with the exact result in integers (`exact`), rounded once.

use crate::common;
use crate::exact;

use common::{Buffer, compiler, module, parameters, translated};
use cushim_ptx::sem::Operation;
use cushim_translate::abi::Lanes;
use exact::{Format, OPS, Op, ROUNDS};
use std::fmt::Write as _;

/// Triples of operands for each operation, and threads of a block.
const CASES: usize = 4096;
const THREADS: u32 = 256;

const HEAD: &str = ".version 8.3\n.target sm_80\n.address_size 64\n";

fn kernel(op: Op, f: Format) -> String {
    let (name, ty, bytes) = (op.name(), f.name(), f.bytes());
    let reg = if f.bits == 53 { "b64" } else { "b32" };
    let mut text = format!(
        ".visible .entry {name}_{ty}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out) {{
         .reg .b64 %a<9>; .reg .b32 %r<4>; .reg .{reg} %x<5>;
         ld.param.u64 %a1, [a]; ld.param.u64 %a2, [b]; ld.param.u64 %a3, [c]; ld.param.u64 %a4, [out];
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, {THREADS}, %r2;
         mul.wide.u32 %a5, %r3, {bytes};
         add.s64 %a1, %a1, %a5; add.s64 %a2, %a2, %a5; add.s64 %a3, %a3, %a5; add.s64 %a4, %a4, %a5;
         ld.global.{reg} %x1, [%a1]; ld.global.{reg} %x2, [%a2]; ld.global.{reg} %x3, [%a3];\n"
    );
    let operands = ["%x1", "%x2", "%x3"][..op.operands()].join(", ");
    for (n, (round, _)) in ROUNDS.iter().enumerate() {
        let at = n * CASES * bytes;
        let _ =
            writeln!(text, "{name}.{round}.{ty} %x4, {operands}; st.global.{reg} [%a4+{at}], %x4;");
    }
    text + "ret; }\n"
}

/// Random operands, many of them close to edge cases.
struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.bits() >> 11) % n
    }

    /// A number of a format; `near` is an exponent field close to those of the other operands.
    fn number(&mut self, f: Format, near: u64) -> u64 {
        let mantissa = f.bits - 1;
        let fields = f.infinity() >> mantissa;
        let sign = self.below(2) << (8 * f.bytes() - 1);
        let fraction = self.bits() & ((1 << mantissa) - 1);
        let edges = [0, 1, 2, (1 << mantissa) - 1, 1 << (mantissa - 1), (1 << mantissa) - 2];
        let fraction = match self.below(3) {
            0 => edges[self.below(6) as usize],
            1 => fraction & !0 << self.below(u64::from(mantissa)),
            _ => fraction,
        };
        let field = match self.below(8) {
            0 => 0,
            1 => self.below(3),
            2 => fields - 1 - self.below(2),
            3 => fields / 2 + self.below(3) - 1,
            4 => self.below(fields + 1),
            _ => (near + self.below(7)).saturating_sub(3).min(fields - 1),
        };
        sign | field << mantissa | fraction
    }

    fn case(&mut self, f: Format) -> [u64; 3] {
        let fields = f.infinity() >> (f.bits - 1);
        let (x, y) = (self.below(fields), self.below(fields));
        // Close to the exponent of the first two operands' product or quotient.
        let z = match self.below(2) {
            0 => (x + y).saturating_sub(fields / 2),
            _ => (x + fields / 2).saturating_sub(y),
        };
        let y = if self.below(3) == 0 { x } else { y };
        [x, y, z].map(|near| self.number(f, near.min(fields - 1)))
    }
}

fn cases(f: Format) -> Vec<[u64; 3]> {
    let sign = 1 << (8 * f.bytes() - 1);
    let largest = f.infinity() - 1;
    // A product that is zero, with a factor of large exponent, plus the smallest subnormal number.
    let mut all =
        vec![[sign, largest, sign | 1], [0, largest, 1], [sign, largest, 1 << (f.bits - 1)]];
    all.extend([[largest, largest, sign | largest], [1, 1, sign], [1, 1, 0], [1, sign | 1, 1]]);
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    all.resize_with(CASES, || draw.case(f));
    all
}

/// The interpreter's result for each rounding.
fn interpreted(module: &cushim_ptx::ir::Module, kernel: &str, case: [u64; 3]) -> Vec<u64> {
    let f = module.functions.iter().find(|f| f.name == kernel).unwrap();
    let floats = f.code.iter().filter(|inst| matches!(inst.sem, Operation::Float(_)));
    let [x, y, z] = case;
    floats.map(|inst| cushim_ptx::alu::eval(&inst.sem, [x, y, z, 0, 0]).0).collect()
}

fn same(found: u64, wanted: u64, f: Format) -> bool {
    found == wanted || f.is_nan(found) && f.is_nan(wanted)
}

fn check(op: Op, f: Format) {
    let name = format!("{}_{}", op.name(), f.name());
    let module = module(&(HEAD.to_owned() + &kernel(op, f)));
    let cases = cases(f);
    let wanted: Vec<[u64; 4]> =
        cases.iter().map(|case| ROUNDS.map(|(_, round)| op.exact(*case, f, round))).collect();
    for (case, wanted) in cases.iter().zip(&wanted) {
        let found = interpreted(&module, &name, *case);
        let right = found.iter().zip(wanted).all(|(a, b)| same(*a, *b, f));
        assert!(
            found.len() == 4 && right,
            "{name} of {case:x?}, interpreted: {found:x?}, not {wanted:x?}"
        );
    }
    let Some(compiler) = compiler() else { return };
    let loaded = translated(&compiler, &module);
    let given: [Buffer; 3] = std::array::from_fn(|n| {
        let bytes: Vec<u8> =
            cases.iter().flat_map(|c| c[n].to_le_bytes()[..f.bytes()].to_vec()).collect();
        Buffer::with(&bytes)
    });
    let out = Buffer::new(4 * CASES * f.bytes());
    let [a, b, c] = &given;
    let parameters = parameters(&[a.address(), b.address(), c.address(), out.address()]);
    let shape = [[CASES as u32 / THREADS, 1, 1], [THREADS, 1, 1]];
    let done = loaded.launch(&name, shape, 0, Lanes::Full, &parameters, &[a, b, c, &out]);
    done.unwrap_or_else(|e| panic!("{name}: {e:?}"));
    for (n, (round, _)) in ROUNDS.iter().enumerate() {
        let results = out.read(n * CASES * f.bytes(), CASES * f.bytes());
        for ((found, wanted), case) in results.chunks(f.bytes()).zip(&wanted).zip(&cases) {
            let mut word = [0; 8];
            word[..f.bytes()].copy_from_slice(found);
            let found = u64::from_le_bytes(word);
            assert!(
                same(found, wanted[n], f),
                "{name}.{round} of {case:x?}: {found:x}, not {:x}",
                wanted[n]
            );
        }
    }
}

#[test]
fn doubles_are_rounded_once() {
    [Op::Add, Op::Sub, Op::Mul, Op::Fma].into_iter().for_each(|op| check(op, Format::DOUBLE));
}

#[test]
fn quotients_and_roots_of_doubles_are_rounded_once() {
    [Op::Div, Op::Sqrt].into_iter().for_each(|op| check(op, Format::DOUBLE));
}

#[test]
fn singles_are_rounded_once() {
    OPS.into_iter().for_each(|op| check(op, Format::SINGLE));
}

/// Compares the model itself, rounding to nearest, with this machine's arithmetic.
#[test]
fn the_exact_model_is_what_this_machine_has() {
    for case in cases(Format::DOUBLE) {
        let [x, y, z] = case.map(f64::from_bits);
        for op in OPS {
            let wanted = match op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Fma => x.mul_add(y, z),
                Op::Div => x / y,
                Op::Sqrt => x.sqrt(),
            };
            let found = op.exact(case, Format::DOUBLE, exact::Round::Nearest);
            assert!(
                same(found, wanted.to_bits(), Format::DOUBLE),
                "{op:?} of {case:x?}: {found:x}"
            );
        }
    }
}
