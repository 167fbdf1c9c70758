//! Tensor maps, as kernels on the CPU read them.
//!
//! Owns which are made. Must not know: what is copied by them ([`cushim_ptx::exec::tensor`]).

use cushim_accel::{Failure, Tensor};
use cushim_ptx::exec::tensor::{ELEMENTS, MAP_BYTES, TensorMap};

/// `CU_TENSOR_MAP_SWIZZLE_*` without those that exchange units of 32 bytes: bytes of a row.
const SWIZZLES: [u32; 4] = [0, 32, 64, 128];

/// The object's bytes.
///
/// # Errors
/// [`Failure::NotSupported`], which names what it does not do.
pub fn map(tensor: &Tensor) -> Result<[u8; MAP_BYTES], Failure> {
    let refused = |what: String| Err(Failure::NotSupported(what));
    let Some(&(_, element)) = ELEMENTS.iter().find(|(n, _)| *n == tensor.data_type) else {
        return refused(format!("tensor maps of data type {}", tensor.data_type));
    };
    if tensor.interleave != 0 {
        return refused("tensor maps with interleaved channels".into());
    }
    if tensor.fill != 0 {
        return refused("tensor maps that fill with NaN".into());
    }
    let swizzle = usize::try_from(tensor.swizzle).ok().and_then(|n| SWIZZLES.get(n));
    let Some(&swizzle) = swizzle else {
        return refused(format!("tensor maps with swizzle mode {}", tensor.swizzle));
    };
    let row = tensor.boxes.first().map_or(0, |n| n * element.bytes());
    if swizzle > 0 && row != swizzle {
        return refused(format!(
            "tensor maps with rows of {row} bytes under a swizzle of {swizzle}"
        ));
    }
    let Tensor { address, sizes, strides, boxes, steps, .. } = tensor.clone();
    Ok(TensorMap { address, element, sizes, strides, boxes, steps, swizzle }.to_bytes())
}
