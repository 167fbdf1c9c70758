//! Tensor maps, in the form that kernels on the CPU read.
//!
//! Owns which maps are accepted. Must not know: how data is copied with them ([`cushim_ptx::exec::tensor_copy`]).

use cushim_accel::{Failure, Tensor};
use cushim_ptx::exec::tensor::{AXES, Corners, ELEMENTS, MAP_BYTES, Modes, TensorMap};

/// `CU_TENSOR_MAP_SWIZZLE_*` without those that exchange units of 32 bytes: bytes of a row.
const SWIZZLES: [u32; 4] = [0, 32, 64, 128];

/// The object's bytes.
///
/// # Errors
/// [`Failure::NotSupported`], which names what it does not do.
pub fn map(tensor: &Tensor) -> Result<[u8; MAP_BYTES], Failure> {
    let refused = |what: String| Err(Failure::NotSupported(what));
    let element = usize::try_from(tensor.data_type).ok().and_then(|n| ELEMENTS.get(n));
    let Some(&(element, change)) = element else {
        return refused(format!("tensor maps of data type {}", tensor.data_type));
    };
    let slice = u32::try_from(tensor.interleave).unwrap_or(0) * 16;
    let modes = Modes { change, nan: tensor.fill != 0, slice };
    let swizzle = usize::try_from(tensor.swizzle).ok().and_then(|n| SWIZZLES.get(n));
    let Some(&swizzle) = swizzle else {
        return refused(format!("tensor maps with swizzle mode {}", tensor.swizzle));
    };
    let Tensor { address, sizes, strides, mut boxes, steps, columns, .. } = tensor.clone();
    boxes.resize(sizes.len(), 1);
    let corner = |list: &[i32]| {
        let mut all = [0; AXES - 2];
        all.iter_mut().zip(list).for_each(|(to, n)| *to = *n as i16);
        all
    };
    let columns =
        columns.map(|[lower, upper]| Corners { lower: corner(&lower), upper: corner(&upper) });
    let map = TensorMap { address, element, modes, sizes, strides, boxes, steps, swizzle, columns };
    Ok(map.to_bytes())
}
