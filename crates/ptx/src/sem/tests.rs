//! Every form of the table has a meaning, each in its own class; meaningless combinations are refused.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::ir::{Base, Src};
use crate::soft::Round;
use crate::table::{self, OperandKind, Row, Word, Words};
use crate::types::Kind;

const KERNEL: Context<'_> = Context { entry: true, registers: &[] };

/// Every choice of modifiers of a row.
fn choices(row: &Row) -> Vec<Words> {
    let mut all = vec![Words::default()];
    for (group, required) in row.modifiers() {
        let mut more = if required { Vec::new() } else { all.clone() };
        for word in group {
            more.extend(all.iter().map(|words| {
                let mut words = *words;
                words.insert(word);
                words
            }));
        }
        all = more;
    }
    all
}

/// The operands that an instruction of a form has: how many results, and the others.
fn operands(row: &Row, words: Words, types: &[Scalar; 4]) -> (usize, Vec<Src>) {
    let parts = match words.first(&[Word::V2, Word::V4, Word::V8]) {
        Some(Word::V2) => 2,
        Some(Word::V4) => 4,
        Some(_) => 8,
        None => 1,
    };
    let (mut results, mut src) = (0, Vec::new());
    for place in &row.places {
        let n = match place.kind {
            OperandKind::Data(_) => parts,
            OperandKind::Fragment(part) => {
                registers(row.op, &words, types, part)
                    .unwrap_or_else(|| panic!("{}", row.syntax()))
                    .0
            }
            _ => 1,
        };
        if place.result {
            results += n;
            continue;
        }
        let one = match place.kind {
            _ if place.optional => Src::None,
            OperandKind::Memory => Src::Memory(Base::Reg(0, 64), 0),
            _ => Src::Imm(0),
        };
        src.extend(vec![one; n]);
    }
    (results, src)
}

/// What an instruction of a form means.
fn lowered(
    row: &Row,
    words: Words,
    types: [Scalar; 4],
    context: Context<'_>,
) -> Result<Operation, Unsupported> {
    let (results, src) = operands(row, words, &types);
    let pos = crate::Pos::default();
    lower(&Statement { op: row.op, words, types, results, src: &src, pos }, context)
}

/// The one instruction of this text, lowered.
fn meaning(text: &str) -> Operation {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n{text}\n}}"
    );
    let module = crate::check(&crate::parse(&text).unwrap()).unwrap();
    module.functions[0].code[0].sem
}

/// The refusal of words and types that the instruction does not have.
fn refused(op: Op, words: &[Word], types: [Scalar; 4], src: usize) -> Unsupported {
    let mut set = Words::default();
    words.iter().for_each(|w| set.insert(*w));
    let address = Src::Memory(Base::Reg(0, 64), 0);
    let src: Vec<Src> = std::iter::once(address).chain(vec![Src::Imm(0); src - 1]).collect();
    let pos = crate::Pos::default();
    lower(&Statement { op, words: set, types, results: 1, src: &src, pos }, KERNEL).unwrap_err()
}

/// Results and operands have the width of the text, and are numbers if it says so.
fn says_its_types(sem: &Operation, row: &Row, types: [Scalar; 4]) {
    let said = |ty: Scalar, written: Scalar| {
        (ty.bits(), ty.kind() == Kind::Float) == (written.bits(), written.kind() == Kind::Float)
    };
    let without = matches!(
        sem,
        Operation::Refused
            | Operation::Nothing
            | Operation::Address(_)
            | Operation::Control(_)
            | Operation::Sleep
    );
    let name = row.syntax();
    assert!(without || said(sem.ty(), types[0]), "{name} {types:?} {sem:?}");
    let two = matches!(sem, Operation::Convert(_) | Operation::Set(_));
    assert!(!two || said(sem.operand(0), types[1]), "{name} {types:?} {sem:?}");
    // Bits are compared as unsigned numbers, and some comparisons are unsigned by themselves, as are the ones and
    // zeros of `vset4`.
    let own = matches!(sem, Operation::Compare(_) | Operation::Video(_));
    let same = own || sem.ty().kind() == types[0].kind();
    assert!(!sem.is_pure() || same, "{name} {types:?} {sem:?}");
}

#[test]
fn every_form_of_the_table_has_a_meaning() {
    let mut found = 0;
    for row in table::rows() {
        let none = vec![Scalar::B32];
        let slot = |n| row.slots().get(n).unwrap_or(&none);
        for words in choices(row) {
            for a in slot(0) {
                for b in slot(1) {
                    let types = [*a, *b, slot(2)[0], slot(3)[0]];
                    // Hardware has no such sums with other roundings either.
                    let rounded = [Word::Rz, Word::Rm, Word::Rp];
                    let rounded = row.op == Op::Atom && words.first(&rounded).is_some();
                    // Integers are not compared as numbers are, and numbers not as unsigned ones.
                    let of = match row.op {
                        Op::Setp => *a,
                        _ => *b,
                    };
                    let floats = float::element(of).is_some();
                    let unsigned = [Word::Lo, Word::Ls, Word::Hi, Word::Hs];
                    let numbers = [
                        Word::Equ,
                        Word::Neu,
                        Word::Ltu,
                        Word::Leu,
                        Word::Gtu,
                        Word::Geu,
                        Word::Num,
                        Word::CmpNan,
                    ];
                    let odd = words.first(if floats { &unsigned } else { &numbers }).is_some();
                    let odd = matches!(row.op, Op::Setp | Op::Set) && odd;
                    let result = lowered(row, words, types, KERNEL);
                    let none = rounded || odd;
                    assert_eq!(result.is_err(), none, "{} {words:?} {result:?}", row.syntax());
                    if let Ok(sem) = result {
                        says_its_types(&sem, row, types);
                    }
                    found += 1;
                }
            }
        }
    }
    assert!(found > 20_000, "{found} forms");
}

#[test]
fn accesses_say_where_what_and_in_which_order() {
    let Operation::Load(a) = meaning("ld.acquire.gpu.global.v2.u32 {%r1, %r2}, [%d1];") else {
        panic!("no load")
    };
    assert_eq!((a.space, a.element, a.parts), (Space::Global, Scalar::U32, 2));
    assert_eq!((a.order, a.bytes()), (Order::Acquire(Scope::Gpu), 8));
    let Operation::Load(a) = meaning("ld.const.nc.f32 %f1, [%d1];") else { panic!("no load") };
    assert_eq!((a.space, a.constant, a.read_only), (Space::Global, true, true));
    assert!(!a.is_ordered() && !a.is_shared());
    let Operation::Store(a) = meaning("st.cg.shared.b64 [%d1], %d2;") else { panic!("no store") };
    assert_eq!((a.space, a.cache, a.order), (Space::Shared, Cache::Cg, Order::Weak));
    assert!(!a.is_ordered() && a.is_shared());
    let Operation::Store(a) = meaning("st.volatile.b32 [%d1], %r2;") else { panic!("no store") };
    assert_eq!((a.space, a.order), (Space::Generic, Order::Volatile));
}

#[test]
fn a_functions_parameters_are_local() {
    let words = |w: &[Word]| {
        let mut set = Words::default();
        w.iter().for_each(|w| set.insert(*w));
        set
    };
    let row = table::rows().find(|r| r.op == Op::Ld && r.mnemonic == "ldu").unwrap();
    let types = [Scalar::U32, Scalar::B32, Scalar::B32, Scalar::B32];
    let of = |context| lowered(row, words(&[Word::Param]), types, context).unwrap().space(0);
    assert_eq!(of(KERNEL), Space::Param);
    let function = Context { entry: false, registers: &[] };
    assert_eq!(of(function), Space::Local);
}

#[test]
fn atomics_have_an_update_of_a_type() {
    let Operation::Atomic(a) = meaning("atom.add.f32 %f1, [%d1], %f2;") else { panic!("none") };
    assert_eq!(a.update, Update::FloatAdd(Scalar::F32));
    assert_eq!(a.access.order, Order::Relaxed(Scope::Gpu));
    let Operation::Atomic(a) = meaning("atom.acq_rel.sys.shared.cas.b64 %d1, [%d2], %d3, %d4;")
    else {
        panic!("none")
    };
    assert_eq!(a.update, Update::CompareExchange(Scalar::B64));
    assert_eq!((a.access.order, a.access.space), (Order::AcqRel(Scope::Sys), Space::Shared));
    let Operation::Atomic(a) = meaning("red.inc.u32 [%d2], %r3;") else { panic!("none") };
    assert_eq!(a.update, Update::Increment);
}

#[test]
fn collectives_and_barrier_objects_have_one() {
    let Operation::Collective(c) = meaning("shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;") else {
        panic!("none")
    };
    assert_eq!((c.op, c.sync), (CollectiveOp::Shuffle(Way::Butterfly), true));
    let Operation::Collective(c) = meaning("redux.sync.min.s32 %r1, %r2, -1;") else {
        panic!("none")
    };
    let update = Update::Min(Scalar::S32);
    assert_eq!(c.op, CollectiveOp::Reduce { update, absolute: false, nan: false });
    let m = meaning("mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], %r3;");
    let op = MbarrierOp::Arrive { expect: true, drop: false };
    assert_eq!(m, Operation::Mbarrier(Mbarrier { op, space: Space::Shared }));
    let c = meaning("cp.async.ca.shared.global [%r1], [%d1], 8, %r2;");
    assert_eq!(c, Operation::CopyAsync(CopyAsync { bytes: 8, source: Source::Bytes }));
    let c = meaning("cp.async.cg.shared.global [%r1], [%d1], 16, %p2;");
    assert_eq!(c, Operation::CopyAsync(CopyAsync { bytes: 16, source: Source::Ignored }));
}

#[test]
fn nonsense_is_refused() {
    let of = |ty| [ty, Scalar::B32, Scalar::B32, Scalar::B32];
    let why = refused(Op::Atom, &[Word::And], of(Scalar::F32), 3);
    assert_eq!(why.to_string(), "found `.f32`, expected a type that this operation has");
    let why = refused(Op::Atom, &[Word::Inc], of(Scalar::U64), 3);
    assert_eq!(why.found, "`.u64`");
    let why = refused(Op::Atom, &[Word::Add, Word::Rz], of(Scalar::F32), 3);
    assert_eq!(why.to_string(), "found `.rz`, expected no such modifier");
    refused(Op::Atom, &[], of(Scalar::U32), 3);
    refused(Op::Atom, &[Word::Cas], of(Scalar::B32), 3);
    refused(Op::Ld, &[Word::V2], of(Scalar::U32), 2);
    refused(Op::Ld, &[Word::Ca, Word::Cg], of(Scalar::U32), 2);
    refused(Op::Ld, &[Word::Relaxed, Word::Acquire], of(Scalar::U32), 2);
    refused(Op::Redux, &[Word::Sync, Word::Min, Word::Nan], of(Scalar::U32), 2);
    refused(Op::Redux, &[Word::Sync, Word::Exch], of(Scalar::B32), 2);
    refused(Op::Match, &[Word::Any], of(Scalar::B32), 2);
}

#[test]
fn arithmetic_says_how_it_rounds_and_clamps() {
    let (ty, packed) = (Scalar::S32, false);
    let op = IntegerOp::Mad { half: Half::High, saturate: true };
    let i = meaning("mad.hi.sat.s32 %r1, %r2, %r3, %r4;");
    assert_eq!(i, Operation::Integer(Integer { op, ty, packed }));
    let op = IntegerOp::AddCarry { carry_in: true };
    let i = meaning("addc.cc.u32 %r1, %r2, %r3;");
    assert_eq!(i, Operation::Integer(Integer { op, ty: Scalar::U32, packed }));
    let op = BitOp::Lop3 { table: 0xe8, then: None };
    let i = meaning("lop3.b32 %r1, %r2, %r3, %r4, 0xe8;");
    assert_eq!(i, Operation::Bits(Bits { op, ty: Scalar::B32 }));
    let Operation::Float(f) = meaning("fma.rz.ftz.sat.f32 %f1, %f2, %f3, %f4;") else {
        panic!("none")
    };
    assert_eq!((f.op, f.round, f.flush, f.clamp), (FloatOp::Fma, Round::Zero, true, Clamp::Unit));
    let Operation::Float(f) = meaning("add.bf16x2 %r1, %r2, %r3;") else { panic!("none") };
    assert_eq!((f.ty, f.packed, f.round), (Scalar::Bf16, true, Round::Nearest));
    assert!(f.contract);
    let Operation::Float(f) = meaning("add.rn.f32 %f1, %f2, %f3;") else { panic!("none") };
    assert!(!f.contract);
    let Operation::Float(f) = meaning("div.full.f32 %f1, %f2, %f3;") else { panic!("none") };
    assert_eq!(f.op, FloatOp::Div(Precision::Full));
}

#[test]
fn conversions_and_comparisons_have_one() {
    let c = meaning("cvt.rzi.ftz.s32.f32 %r1, %f2;");
    let (from, to) = (Scalar::F32, Scalar::S32);
    let expected = Convert::ToInteger { from, to, round: Round::Zero, flush: true };
    assert_eq!(c, Operation::Convert(expected));
    let c = meaning("cvt.sat.u8.s32 %h1, %r2;");
    let (from, to) = (Scalar::S32, Scalar::U8);
    assert_eq!(c, Operation::Convert(Convert::Integer { from, to, saturate: true }));
    let Operation::Compare(c) = meaning("setp.hs.and.u32 %p1|%p2, %r1, %r2, %p3;") else {
        panic!("none")
    };
    let of = Compared::Integers { bits: 32, signed: false };
    assert_eq!((c.holds, c.of, c.then), (Outcomes(0b110), of, Some(Logic::And)));
    let Operation::Compare(c) = meaning("setp.neu.ftz.f32 %p1, %f1, %f2;") else { panic!("none") };
    let of = Compared::Floats { ty: Scalar::F32, flush: true };
    assert_eq!((c.holds, c.of, c.packed), (Outcomes(0b1101), of, false));
    let of = |ty| [ty, Scalar::B32, Scalar::B32, Scalar::B32];
    refused(Op::Setp, &[Word::Lo], of(Scalar::F32), 2);
    refused(Op::Setp, &[Word::Num], of(Scalar::S32), 2);
    refused(Op::Setp, &[], of(Scalar::S32), 2);
    refused(Op::Cvt, &[Word::Rn], [Scalar::S32, Scalar::F32, Scalar::B32, Scalar::B32], 1);
    refused(Op::Mul, &[], of(Scalar::U32), 2);
    refused(Op::Add, &[Word::Relu], of(Scalar::U32), 2);
    refused(Op::Shf, &[Word::L], of(Scalar::B32), 3);
    refused(Op::Add, &[Word::Ftz], of(Scalar::U32), 2);
}

#[test]
fn barriers_fences_and_addresses_have_one() {
    assert_eq!(meaning("bar.sync 0;"), Operation::Barrier(Barrier::Sync));
    let reduce = meaning("barrier.red.popc.aligned.u32 %r1, 0, %p1;");
    assert_eq!(reduce, Operation::Barrier(Barrier::Reduce(Reduction::Count)));
    assert_eq!(meaning("membar.gl;"), Operation::Fence(Fence::Sequential(Scope::Gpu)));
    assert_eq!(meaning("fence.sc.cta;"), Operation::Fence(Fence::Sequential(Scope::Cta)));
    let weaker = |scope| Operation::Fence(Fence::AcquireRelease(scope));
    assert_eq!(meaning("fence.acq_rel.gpu;"), weaker(Some(Scope::Gpu)));
    assert_eq!(meaning("fence.proxy.async;"), weaker(None));
    let (op, space) = (AddressOp::FromGeneric, Space::Shared);
    let a = meaning("cvta.to.shared.u64 %d1, %d2;");
    assert_eq!(a, Operation::Address(Address { op, space }));
    let Operation::Video(v) = meaning("vmad.u32.s32.u32.sat.shr7 %r1, %r2.b0, %r3.h1, %r4;") else {
        panic!("none")
    };
    assert_eq!(v.op, VideoOp::Mad { plus_one: false, shift: 7 });
    assert_eq!((v.signed, v.saturate), ([false, true, false], true));
    let none = [Scalar::B32; 4];
    refused(Op::FenceSc, &[Word::Sc], none, 1);
    refused(Op::BarRed, &[Word::Red, Word::Xor], none, 1);
    refused(Op::Cvta, &[Word::To], none, 1);
}

#[test]
fn moves_branches_and_hints_have_one() {
    assert_eq!(meaning("mov.b64 %d1, {%r1, %r2};"), Operation::Move(Scalar::B64));
    assert_eq!(meaning("mov.pred %p1, %p2;"), Operation::Move(Scalar::Pred));
    let policy = meaning("createpolicy.fractional.L2::evict_last.b64 %d1;");
    assert_eq!(policy, Operation::Move(Scalar::B64));
    assert_eq!(meaning("L: bra.uni L;"), Operation::Control(Control::Branch));
    assert_eq!(meaning("@%p1 ret;"), Operation::Control(Control::Return));
    assert_eq!(meaning("exit;"), Operation::Control(Control::Exit));
    assert_eq!(meaning("trap;"), Operation::Control(Control::Trap));
    assert_eq!(meaning("activemask.b32 %r1;"), Operation::ActiveMask);
    assert_eq!(meaning("nanosleep.u32 20;"), Operation::Sleep);
    assert_eq!(meaning("prefetch.global.L2 [%d1];"), Operation::Nothing);
    assert_eq!(meaning("cp.async.wait_all;"), Operation::Nothing);
    let why = refused(Op::Mov, &[Word::Sat], [Scalar::B32; 4], 1);
    assert_eq!(why.found, "`.sat`");
    refused(Op::Mov, &[], [Scalar::B128; 4], 1);
    refused(Op::Bra, &[Word::Sync], [Scalar::B32; 4], 1);
}

#[test]
fn what_has_no_meaning_keeps_its_kernel_from_being_launched() {
    let text = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n\
                .reg .pred %p<9>; .reg .f32 %f<9>;\nsetp.lo.f32 %p1, %f1, %f2;\n}";
    let module = crate::check(&crate::parse(text).unwrap()).unwrap();
    let (_, refusal) = module.refusals(0)[0];
    assert_eq!(refusal.instruction, "setp.lo.f32");
    assert_eq!(refusal.reason, "found `.f32`, expected a type that this comparison takes");
    let inst = &module.functions[0].code[0];
    assert_eq!(inst.sem, Operation::Refused);
}
