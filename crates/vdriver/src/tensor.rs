//! Tensor maps: 128 bytes that describe a tensor in memory, for kernels that copy boxes of it.
//!
//! Owns which arguments CUDA accepts (CUDA Driver API, "Tensor Map Object Management"). The accelerator defines the
//! bytes. Must not know: how kernels use them.

use cushim_abi::types::Ptr;
use cushim_accel::{Failure, Tensor};

use super::entry::entry;
use super::state::{accelerator, take_all};
use super::status;

/// The largest stride, and what strides are multiples of, in bytes.
const STRIDES: (u64, u64) = (1 << 40, 16);
/// Bytes of elements by `CUtensorMapDataType`; packed ones (13 and more) an H200's driver does not take.
const BYTES: [u64; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];

/// The types with NaNs: the floating-point `CUtensorMapDataType`.
const FLOATS: std::ops::RangeInclusive<i32> = 6..=12;
/// How far corners of the pixel box may be from the tensor's, by the number of axes with a corner.
const CORNERS: [i32; 4] = [0, 1 << 15, 1 << 7, 1 << 4];

/// Whether CUDA accepts it: as the driver of an H200 answered for all choices of type, interleaving, swizzle, filling
/// and width, and rule by rule (`c-tests/cuda/compute/tensor_checks.cu`).
fn is_valid(tensor: &Tensor) -> bool {
    let Some(bytes) = usize::try_from(tensor.data_type).ok().and_then(|n| BYTES.get(n)) else {
        return false;
    };
    let sizes = tensor.sizes.iter().all(|n| (1..=1 << 32).contains(n));
    let unit = if tensor.interleave == 2 { 2 * STRIDES.1 } else { STRIDES.1 };
    let strides = tensor.strides.iter().all(|n| *n < STRIDES.0 && n.is_multiple_of(unit));
    let boxes = match &tensor.columns {
        None => tensor.boxes.iter().all(|n| (1..=256).contains(n)),
        Some(_) => matches!(tensor.boxes[..], [1..=256, 1..=1024]),
    };
    // For tiles, an H200's driver refuses 262,144 bytes; a box larger than shared memory has no use.
    let whole = tensor.boxes.iter().fold(*bytes, |all, n| all.saturating_mul((*n).into()));
    let small = tensor.columns.is_some() || whole < 1 << 18;
    let steps = tensor.steps.iter().all(|n| (1..=8).contains(n));
    let modes = [(tensor.interleave, 3), (tensor.swizzle, 4), (tensor.fill, 2)];
    let row = tensor.boxes.first().map_or(0, |n| u64::from(*n)) * bytes;
    // The inner box is at most as wide as the swizzle pattern, unless channels are interleaved.
    let widest = [u64::MAX, 32, 64, 128];
    let widest = usize::try_from(tensor.swizzle).ok().and_then(|n| widest.get(n).copied());
    let fits = match tensor.interleave {
        0 => widest.is_some_and(|w| row <= w),
        _ => tensor.sizes.len() >= 3,
    };
    tensor.address.is_multiple_of(unit)
        && sizes
        && strides
        && boxes
        && small
        && steps
        && modes.iter().all(|(mode, count)| (0..*count).contains(mode))
        && (tensor.fill == 0 || FLOATS.contains(&tensor.data_type))
        && row.is_multiple_of(16)
        && fits
        && are_corners(tensor)
}

/// Whether the pixel box is valid.
fn are_corners(tensor: &Tensor) -> bool {
    let Some([lower, upper]) = &tensor.columns else { return true };
    let far = CORNERS.get(lower.len()).copied().unwrap_or(0);
    let near = |list: &[i32]| list.iter().all(|n| (-far..far).contains(n));
    // For slices of channels, pixels are counted from the innermost axis on.
    let sizes = tensor.sizes.iter().skip(usize::from(tensor.interleave == 0));
    let any = sizes
        .zip(lower.iter().zip(upper))
        .all(|(size, (lower, upper))| i128::from(*size) + i128::from(*upper) > i128::from(*lower));
    near(lower) && near(upper) && any
}

/// Makes the object at `at`, where the arguments are valid.
///
/// # Errors
/// CUDA's, for the program.
///
/// # Safety
/// The caller has room for an object of 128 bytes at `at`; it need not be aligned, as an H200's driver does not look.
unsafe fn made(at: usize, tensor: &Tensor) -> Result<(), i32> {
    if !is_valid(tensor) {
        return Err(status::INVALID_VALUE);
    }
    let bytes = accelerator().tensor_map(tensor).map_err(|failure| refused(&failure))?;
    // SAFETY: the caller has room for an object of 128 bytes there.
    unsafe { (at as *mut [u8; 128]).write_unaligned(bytes) };
    Ok(())
}

entry! {
    fn cuTensorMapEncodeTiled (tensorMap: Ptr, tensorDataType: i32, tensorRank: u32, globalAddress: Ptr, globalDim: Ptr, globalStrides: Ptr, boxDim: Ptr, elementStrides: Ptr, interleave: i32, swizzle: i32, l2Promotion: i32, oobFill: i32) {
        let at = tensorMap.0;
        if at == 0 || !(1..=5).contains(&tensorRank) || !(0..4).contains(&l2Promotion) {
            return Err(status::INVALID_VALUE);
        }
        let axes = tensorRank as usize;
        // SAFETY: the caller's lists have an entry for each axis, of strides one less.
        let (sizes, strides, boxes, steps) = unsafe {
            (take_all(globalDim, axes)?, take_all(globalStrides, axes - 1)?, take_all(boxDim, axes)?, take_all(elementStrides, axes)?)
        };
        let tensor = Tensor { data_type: tensorDataType, address: globalAddress.0 as u64, sizes, strides, boxes, steps, interleave, swizzle, fill: oobFill, columns: None };
        // SAFETY: the caller has room for an object there.
        unsafe { made(at, &tensor) }
    }

    fn cuTensorMapEncodeIm2col (tensorMap: Ptr, tensorDataType: i32, tensorRank: u32, globalAddress: Ptr, globalDim: Ptr, globalStrides: Ptr, pixelBoxLowerCorner: Ptr, pixelBoxUpperCorner: Ptr, channelsPerPixel: u32, pixelsPerColumn: u32, elementStrides: Ptr, interleave: i32, swizzle: i32, l2Promotion: i32, oobFill: i32) {
        let at = tensorMap.0;
        if at == 0 || !(3..=5).contains(&tensorRank) || !(0..4).contains(&l2Promotion) {
            return Err(status::INVALID_VALUE);
        }
        let axes = tensorRank as usize;
        // SAFETY: the caller's lists have an entry for each axis, of strides one less, of corners two less.
        let (sizes, strides, steps, lower, upper) = unsafe {
            (take_all(globalDim, axes)?, take_all(globalStrides, axes - 1)?, take_all(elementStrides, axes)?, take_all(pixelBoxLowerCorner, axes - 2)?, take_all(pixelBoxUpperCorner, axes - 2)?)
        };
        let boxes = vec![channelsPerPixel, pixelsPerColumn];
        let tensor = Tensor { data_type: tensorDataType, address: globalAddress.0 as u64, sizes, strides, boxes, steps, interleave, swizzle, fill: oobFill, columns: Some([lower, upper]) };
        // SAFETY: the caller has room for an object there.
        unsafe { made(at, &tensor) }
    }

    fn cuTensorMapReplaceAddress (tensorMap: Ptr, globalAddress: Ptr) {
        let at = tensorMap.0;
        let address = globalAddress.0 as u64;
        if at == 0 || address == 0 || !address.is_multiple_of(16) {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: the caller has an object of 128 bytes there.
        let old = unsafe { (at as *const [u8; 128]).read_unaligned() };
        let new = accelerator().tensor_map_at(&old, address).ok_or(status::INVALID_VALUE)?;
        // SAFETY: the caller has an object of 128 bytes there.
        unsafe { (at as *mut [u8; 128]).write_unaligned(new) };
        Ok(())
    }
}

/// The program's error for a failure to make an object.
fn refused(failure: &Failure) -> i32 {
    if let Failure::NotSupported(what) = failure {
        let backend = cushim_vbase::backend::name();
        cushim_accel::say(&format!("{what} are not supported by backend {backend}"));
    }
    status::of(failure)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn good() -> Tensor {
        Tensor {
            data_type: 9,
            address: 4096,
            sizes: vec![64, 8],
            strides: vec![128],
            boxes: vec![64, 8],
            steps: vec![1, 1],
            interleave: 0,
            swizzle: 3,
            fill: 0,
            columns: None,
        }
    }

    fn good_columns() -> Tensor {
        Tensor {
            sizes: vec![64, 9, 7, 3],
            strides: vec![128, 1280, 12800],
            boxes: vec![64, 1024],
            steps: vec![1, 2, 2, 1],
            columns: Some([vec![-128, 127], vec![127, 121]]),
            ..good()
        }
    }

    #[test]
    fn what_cuda_refuses_is_refused() {
        assert!(is_valid(&good()));
        let bad: [fn(&mut Tensor); 14] = [
            |t| t.data_type = 16,
            |t| t.address = 8,
            |t| t.sizes[1] = 0,
            |t| t.sizes[0] = (1 << 32) + 1,
            |t| t.strides[0] = 120,
            |t| t.strides[0] = 1 << 40,
            |t| t.boxes[0] = 128,
            |t| t.boxes[0] = 4,
            |t| t.boxes[1] = 257,
            |t| t.steps[1] = 9,
            |t| t.fill = 2,
            |t| (t.fill, t.data_type) = (1, 1),
            |t| t.interleave = 1,
            |t| t.interleave = 2,
        ];
        for (n, change) in bad.iter().enumerate() {
            let mut tensor = good();
            change(&mut tensor);
            assert!(!is_valid(&tensor), "{n}");
        }
    }

    #[test]
    fn boxes_of_pixels_have_bounds() {
        assert!(is_valid(&good_columns()));
        let with = |lower: [i32; 2], upper: [i32; 2]| Tensor {
            columns: Some([lower.to_vec(), upper.to_vec()]),
            ..good_columns()
        };
        assert!(is_valid(&with([0, 0], [-8, -6])));
        for (lower, upper) in [
            ([-129, 0], [0, 0]),
            ([0, 128], [0, 127]),
            ([0, 0], [0, 128]),
            ([0, 0], [-9, 0]),
            ([0, 3], [0, -4]),
        ] {
            assert!(!is_valid(&with(lower, upper)), "{lower:?} {upper:?}");
        }
        for boxes in [[0, 8], [64, 0], [64, 1025], [257, 1]] {
            assert!(!is_valid(&Tensor { boxes: boxes.to_vec(), ..good_columns() }), "{boxes:?}");
        }
    }
}
