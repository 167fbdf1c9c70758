//! cuBLASLt: products with an epilogue.
//!
//! Descriptors are NVIDIA's, which need no device; NVIDIA's functions read them. There is one algorithm, number 0,
//! which needs no workspace; an algorithm that a program brings (from a file, or from another machine) counts as this
//! one.
//!
//! Owns: the functions and their arguments, the results of heuristics. Source: cublasLt.h and cuBLAS' documentation.
//! Must not know: how products are computed.

use std::ffi::c_void;

use cushim_blas::finish::{Function, Place};
use cushim_blas::kind::Kind;
use cushim_blas::launch::context;
use cushim_blas::matmul::{Arguments, Epilogue, Layout, Matmul};
use cushim_blas::status;
use cushim_vbase::code::say_once;

use super::shared::{At, Scalar, say};
use crate::real::call;

/// `cublasLtHandle_t`, and its descriptors.
type Handle = usize;
type Descriptor = usize;

/// Bytes of cushim's handle; the first of them mark it.
const SIZE: usize = 4096;
const OURS: u64 = 0x6375_7368_696d_4c74;

/// Bytes of a `cublasLtMatmulAlgo_t`.
const ALGORITHM: usize = 64;

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub struct Heuristic {
    algorithm: [u64; ALGORITHM / 8],
    workspace: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

impl Heuristic {
    fn of(state: i32) -> Heuristic {
        Heuristic { algorithm: algorithm(), workspace: 0, state, waves: 1.0, reserved: [0; 4] }
    }
}

/// Ours: number 0, with nothing chosen.
fn algorithm() -> [u64; ALGORITHM / 8] {
    [0; ALGORITHM / 8]
}

/// `cublasLtCreate`.
pub unsafe extern "C" fn create<const K: usize>(handle: *mut Handle) -> i32 {
    let status = call!(K, LT_CREATE: fn(*mut Handle), status::NOT_INITIALIZED, handle);
    if status == status::SUCCESS || handle.is_null() || !context() {
        return status;
    }
    // SAFETY: no pointer goes in.
    let place = unsafe { libc::calloc(SIZE, 1) };
    if place.is_null() {
        return status;
    }
    say_once(
        "libcublasLt finds no driver: products of matrices run by kernels of cushim's, and its other functions answer 1",
    );
    // SAFETY: memory of ours, aligned for it; and the program's variable, which is not null.
    unsafe {
        place.cast::<u64>().write(OURS);
        handle.write(place.expose_provenance());
    }
    status::SUCCESS
}

/// `cublasLtDestroy`.
pub unsafe extern "C" fn destroy<const K: usize>(handle: Handle) -> i32 {
    let place = std::ptr::with_exposed_provenance_mut::<u64>(handle);
    // SAFETY: a handle is the address of one of NVIDIA's, or of ours, which are both longer.
    if place.is_null() || unsafe { place.read() } != OURS {
        return call!(K, LT_DESTROY: fn(Handle), status::NOT_INITIALIZED, handle);
    }
    // SAFETY: `create` allocated it.
    unsafe { libc::free(place.cast()) };
    status::SUCCESS
}

/// A function that reads an attribute of a descriptor, and how its calls are redirected.
macro_rules! attribute {
    ($name:literal $function:ident $row:ident) => {
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>(
            of: Descriptor, attribute: u32, to: *mut c_void, size: usize, written: *mut usize
        ) -> i32 {
            call!(K, $row: fn(Descriptor, u32, *mut c_void, usize, *mut usize), status::NOT_INITIALIZED, of, attribute, to, size, written)
        }
    };
}

attribute! { "cublasLtMatmulDescGetAttribute" desc_get LT_DESC_GET }
attribute! { "cublasLtMatrixLayoutGetAttribute" layout_get LT_LAYOUT_GET }

/// An attribute as a number; `None` where this version of the library does not have it.
fn number<const N: usize>(
    get: unsafe extern "C" fn(Descriptor, u32, *mut c_void, usize, *mut usize) -> i32,
    of: Descriptor,
    attribute: u32,
) -> Option<i64> {
    let (mut bytes, mut written) = ([0u8; N], 0);
    // SAFETY: room for N bytes; the descriptor is one of the library's.
    let status = unsafe { get(of, attribute, bytes.as_mut_ptr().cast(), N, &mut written) };
    let mut long = [0; 8];
    long.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    (status == status::SUCCESS).then(|| match N {
        4 => i64::from(i64::from_le_bytes(long) as i32),
        _ => i64::from_le_bytes(long),
    })
}

/// What a layout says.
fn layout<const K: usize>(of: Descriptor) -> Result<Layout, i32> {
    if of == 0 {
        return Err(status::INVALID_VALUE);
    }
    let word = |attribute| number::<4>(layout_get::<K>, of, attribute);
    let long = |attribute| number::<8>(layout_get::<K>, of, attribute);
    let known = |found: Option<i64>| found.ok_or(status::INVALID_VALUE);
    let kind = Kind::of(known(word(0))? as i32).ok_or(status::NOT_SUPPORTED)?;
    let order = known(word(1))?;
    // Planes of real and imaginary parts; batches by arrays of pointers.
    let is_other = long(7).unwrap_or(0) != 0 || word(8).unwrap_or(0) != 0;
    if !(0..=1).contains(&order) || is_other {
        return Err(status::NOT_SUPPORTED);
    }
    Ok(Layout {
        kind,
        by_rows: order == 1,
        sizes: [known(long(2))?, known(long(3))?],
        leading: known(long(4))?,
        count: known(word(5))?,
        stride: known(long(6))?,
    })
}

/// What an epilogue's number means: function, whether a bias is added, whether rows are summed, which factor is.
fn epilogue_of(number: i64) -> Option<(Function, bool, bool, Option<usize>)> {
    let plain = |function| Some((function, false, false, None));
    match number {
        1 => plain(Function::None),
        4 => Some((Function::None, true, false, None)),
        2 | 6 | 130 | 134 => {
            Some((Function::Relu { bits: number & 128 != 0 }, number & 4 != 0, false, None))
        }
        32 | 36 | 160 | 164 => {
            Some((Function::Gelu { argument: number & 128 != 0 }, number & 4 != 0, false, None))
        }
        136 | 152 => Some((Function::ReluGradient, false, number & 16 != 0, None)),
        192 | 208 => Some((Function::GeluGradient, false, number & 16 != 0, None)),
        256 => Some((Function::None, false, false, Some(0))),
        512 => Some((Function::None, false, false, Some(1))),
        _ => None,
    }
}

/// The epilogue in a descriptor, for a product with elements of type `result` and scalars of type `scale`.
fn epilogue<const K: usize>(of: Descriptor, result: Kind, scale: Kind) -> Result<Epilogue, i32> {
    let word = |attribute| number::<4>(desc_get::<K>, of, attribute);
    let long = |attribute| number::<8>(desc_get::<K>, of, attribute).unwrap_or(0);
    let number = word(7).ok_or(status::INVALID_VALUE)?;
    let found = epilogue_of(number).ok_or(status::NOT_SUPPORTED)?;
    let (function, has_bias, has_gradient, factor) = found;
    let kind = |attribute, otherwise: Kind| match word(attribute).unwrap_or(-1) {
        -1 => Ok(otherwise),
        other => Kind::of(other as i32).ok_or(status::NOT_SUPPORTED),
    };
    // The bias of bytes is of the scalars' type.
    let usual = if result.size() == 1 { scale } else { result };
    let (bias, argument) = (kind(26, usual)?, kind(22, result)?);
    Ok(Epilogue {
        function,
        bias: has_bias.then_some(bias),
        gradient: has_gradient.then_some(bias),
        factor_sums: factor.map(|which| (which, bias)),
        bias_at: long(8) as u64,
        bias_stride: long(10),
        auxiliary: long(11) as u64,
        auxiliary_steps: [long(12), long(13)],
        argument,
    })
}

/// Where alpha and beta are by a `cublasLtPointerMode_t`; whether beta is zero.
fn places(mode: i64, stride: i64) -> Option<([Place; 2], bool)> {
    Some(match mode {
        0 => ([Place::Host; 2], false),
        1 => ([Place::Device; 2], false),
        2 => ([Place::Vector(stride); 2], false),
        3 => ([Place::Vector(0), Place::Host], true),
        4 => ([Place::Vector(stride), Place::Host], false),
        _ => return None,
    })
}

/// The product that descriptors say; whether beta is zero, whatever the call has.
fn matmul<const K: usize>(of: Descriptor, layouts: [Descriptor; 4]) -> Result<(Matmul, bool), i32> {
    if of == 0 {
        return Err(status::INVALID_VALUE);
    }
    let word = |attribute| number::<4>(desc_get::<K>, of, attribute).ok_or(status::INVALID_VALUE);
    let long = |attribute| number::<8>(desc_get::<K>, of, attribute).unwrap_or(0);
    let [a, b, c, d] = layouts.map(layout::<K>);
    let layouts = [a?, b?, c?, d?];
    let [.., d] = layouts;
    let scale = Kind::of(word(1)? as i32).ok_or(status::NOT_SUPPORTED)?;
    // C turned, halves, scales of factors and results, their greatest values, and waiting for other kernels.
    let scales = [17, 18, 19, 20, 21, 23, 24, 29, 30, 36].iter().any(|field| long(*field) != 0);
    if word(5)? != 0 || word(6)? != 2 || scales {
        return Err(status::NOT_SUPPORTED);
    }
    let (places, no_beta) = places(word(2)?, long(14)).ok_or(status::INVALID_VALUE)?;
    let matmul = Matmul {
        compute: word(0)? as i32,
        scale,
        operations: [word(3)? as i32, word(4)? as i32],
        layouts,
        epilogue: epilogue::<K>(of, d.kind, scale)?,
        places,
    };
    matmul.check().map(|()| (matmul, no_beta))
}

/// `cublasLtMatmul`.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn run<const K: usize>(
    handle: Handle,
    of: Descriptor,
    alpha: Scalar,
    a: At,
    a_layout: Descriptor,
    b: At,
    b_layout: Descriptor,
    beta: Scalar,
    c: At,
    c_layout: Descriptor,
    d: At,
    d_layout: Descriptor,
    _algorithm: *const c_void,
    _workspace: At,
    _workspace_size: usize,
    stream: usize,
) -> i32 {
    static ZERO: [u64; 2] = [0; 2];
    if handle == 0 {
        return status::NOT_INITIALIZED;
    }
    let status = match matmul::<K>(of, [a_layout, b_layout, c_layout, d_layout]) {
        Ok((matmul, no_beta)) => {
            let beta = if no_beta { ZERO.as_ptr().cast() } else { beta };
            let arguments = Arguments { scalars: [alpha, beta], at: [a, b, c, d] };
            // SAFETY: the program's scalars, which lie where the descriptor says.
            unsafe { matmul.run(&arguments, stream) }
        }
        Err(status) => status,
    };
    if status == status::NOT_SUPPORTED {
        say("cublasLtMatmul");
    }
    status
}

/// `cublasLtMatmulAlgoGetHeuristic`: cushim's algorithm, if the product is supported.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn heuristic<const K: usize>(
    handle: Handle,
    of: Descriptor,
    a: Descriptor,
    b: Descriptor,
    c: Descriptor,
    d: Descriptor,
    preference: Descriptor,
    wanted: i32,
    results: *mut Heuristic,
    found: *mut i32,
) -> i32 {
    if handle == 0 {
        return status::NOT_INITIALIZED;
    }
    if preference == 0 || wanted < 1 || results.is_null() || found.is_null() {
        return status::INVALID_VALUE;
    }
    // After an error the number is unchanged (measured on an H200, cuBLAS 13.0).
    if let Err(status) = matmul::<K>(of, [a, b, c, d]) {
        return status;
    }
    // SAFETY: the program's two places, with room for one result at least; neither is null.
    unsafe {
        results.write(Heuristic::of(status::SUCCESS));
        found.write(1);
    }
    status::SUCCESS
}

/// `cublasLtMatmulAlgoCheck`.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn check<const K: usize>(
    handle: Handle,
    of: Descriptor,
    a: Descriptor,
    b: Descriptor,
    c: Descriptor,
    d: Descriptor,
    algorithm: *const c_void,
    result: *mut Heuristic,
) -> i32 {
    if handle == 0 {
        return status::NOT_INITIALIZED;
    }
    if algorithm.is_null() || result.is_null() {
        return status::INVALID_VALUE;
    }
    if let Err(status) = matmul::<K>(of, [a, b, c, d]) {
        return status;
    }
    // SAFETY: the program's place for a result.
    unsafe { result.write(Heuristic::of(status::SUCCESS)) };
    status::SUCCESS
}

/// `cublasLtMatmulAlgoGetIds`: number 0.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn ids<const K: usize>(
    handle: Handle,
    _compute: i32,
    _scale: i32,
    _a: i32,
    _b: i32,
    _c: i32,
    _d: i32,
    wanted: i32,
    ids: *mut i32,
    found: *mut i32,
) -> i32 {
    if handle == 0 {
        return status::NOT_INITIALIZED;
    }
    if wanted < 1 || ids.is_null() || found.is_null() {
        return status::INVALID_VALUE;
    }
    // SAFETY: the program's, with room for one at least.
    unsafe {
        ids.write(0);
        found.write(1);
    }
    status::SUCCESS
}

/// `cublasLtMatmulAlgoInit`.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn algorithm_init<const K: usize>(
    handle: Handle,
    _compute: i32,
    _scale: i32,
    _a: i32,
    _b: i32,
    _c: i32,
    _d: i32,
    id: i32,
    to: *mut [u64; ALGORITHM / 8],
) -> i32 {
    if handle == 0 {
        return status::NOT_INITIALIZED;
    }
    if id != 0 || to.is_null() {
        return status::INVALID_VALUE;
    }
    // SAFETY: the program's, with room for an algorithm.
    unsafe { to.write(algorithm()) };
    status::SUCCESS
}

/// `cublasLtMatmulAlgoCapGetAttribute` of cushim's algorithm. Tiles and stages have no numbers, so lists of them are
/// empty.
pub unsafe extern "C" fn capability<const K: usize>(
    algorithm: *const c_void,
    attribute: u32,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> i32 {
    let (value, needed): (u64, usize) = match attribute {
        // Parts of sums, reductions, order of blocks, triangles, options, negative strides, synchronisation, arrays of pointers.
        0 | 1 | 2 | 5 | 7 | 14 | 20 | 21 | 22 => (0, 4),
        // Batches, and results out of place.
        3 | 4 => (1, 4),
        6 | 13 => (0, 0),
        // Other orders than columns are taken.
        10 => (1, 4),
        11 => (31, 4),
        12 => (0x3ff, 4),
        // Fused operations of singles.
        15 => (0x0008_0201, 8),
        16..=19 => (1, 4),
        _ => return status::INVALID_VALUE,
    };
    if algorithm.is_null() || (size == 0 && written.is_null()) || (size != 0 && to.is_null()) {
        return status::INVALID_VALUE;
    }
    if !written.is_null() {
        // SAFETY: the program's variable.
        unsafe { written.write(needed) };
    }
    if size == 0 {
        return status::SUCCESS;
    }
    if size < needed {
        return status::INVALID_VALUE;
    }
    // SAFETY: room for `size` bytes.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast(), needed) };
    status::SUCCESS
}
