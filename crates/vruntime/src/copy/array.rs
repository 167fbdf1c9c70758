//! Copies to, from and between arrays: of rows, and of byte runs that continue from row to row.
//!
//! Owns the split of such a run into rectangles, which the driver copies. Must not know: the contents of arrays.

use cushim_abi::types::*;

use super::planes::{at_2d, later_2d, now_2d};
use super::{Direction, some, twins};
use crate::array::row_bytes;
use crate::context;
use crate::error::code;
use crate::forward::{done, functions};
use crate::layout::{DriverMemcpy2D, Side2D, memory};

twins! {
    cudaMemcpy2DToArray / cudaMemcpy2DToArray_ptds (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) |per_thread| {
        some(&[width, height], || now_2d(&to_array((dst, wOffset, hOffset), src, spitch, width, height, kind)?, per_thread))
    }

    cudaMemcpy2DFromArray / cudaMemcpy2DFromArray_ptds (dst: Ptr, dpitch: usize, src: Ptr, wOffset: usize, hOffset: usize, width: usize, height: usize, kind: CopyKind) |per_thread| {
        some(&[width, height], || now_2d(&from_array(dst, dpitch, (src, wOffset, hOffset), width, height, kind)?, per_thread))
    }

    cudaMemcpy2DArrayToArray / cudaMemcpy2DArrayToArray_ptds (dst: Ptr, wOffsetDst: usize, hOffsetDst: usize, src: Ptr, wOffsetSrc: usize, hOffsetSrc: usize, width: usize, height: usize, kind: CopyKind) |per_thread| {
        some(&[width, height], || {
            Direction::of(kind)?;
            let (src, dst) = (in_array((src, wOffsetSrc, hOffsetSrc)), in_array((dst, wOffsetDst, hOffsetDst)));
            now_2d(&DriverMemcpy2D { src, dst, width, height }, per_thread)
        })
    }

    cudaMemcpyToArray / cudaMemcpyToArray_ptds (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, count: usize, kind: CopyKind) |per_thread| {
        done(run_to((dst, wOffset, hOffset), src, count, kind, |copy| now_2d(copy, per_thread)))
    }

    cudaMemcpyFromArray / cudaMemcpyFromArray_ptds (dst: Ptr, src: Ptr, wOffset: usize, hOffset: usize, count: usize, kind: CopyKind) |per_thread| {
        done(run_from(dst, (src, wOffset, hOffset), count, kind, |copy| now_2d(copy, per_thread)))
    }

    cudaMemcpyArrayToArray / cudaMemcpyArrayToArray_ptds (dst: Ptr, wOffsetDst: usize, hOffsetDst: usize, src: Ptr, wOffsetSrc: usize, hOffsetSrc: usize, count: usize, kind: CopyKind) |per_thread| {
        done(Direction::of(kind).and_then(|_| {
            let (from, to) = (End::array((src, wOffsetSrc, hOffsetSrc))?, End::array((dst, wOffsetDst, hOffsetDst))?);
            run(from, to, count, |copy| now_2d(copy, per_thread))
        }))
    }
}

functions! {
    cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) {
        some(&[width, height], || later_2d(&to_array((dst, wOffset, hOffset), src, spitch, width, height, kind)?, stream))
    }

    cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz (dst: Ptr, dpitch: usize, src: Ptr, wOffset: usize, hOffset: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) {
        some(&[width, height], || later_2d(&from_array(dst, dpitch, (src, wOffset, hOffset), width, height, kind)?, stream))
    }

    cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, count: usize, kind: CopyKind, stream: Stream) {
        done(run_to((dst, wOffset, hOffset), src, count, kind, |copy| later_2d(copy, stream)))
    }

    cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz (dst: Ptr, src: Ptr, wOffset: usize, hOffset: usize, count: usize, kind: CopyKind, stream: Stream) {
        done(run_from(dst, (src, wOffset, hOffset), count, kind, |copy| later_2d(copy, stream)))
    }
}

/// An array and a position in it: bytes from the row's start, row.
type Place = (Ptr, usize, usize);

fn in_array((array, x, y): Place) -> Side2D {
    Side2D { x, y, memory: memory::ARRAY, array: array.0, ..Side2D::default() }
}

fn to_array(
    to: Place,
    src: Ptr,
    spitch: usize,
    width: usize,
    height: usize,
    kind: CopyKind,
) -> Result<DriverMemcpy2D, Status> {
    let (from, _) = Direction::of(kind)?.memory();
    if height > 1 && width > spitch {
        return Err(code::INVALID_PITCH);
    }
    Ok(DriverMemcpy2D { src: at_2d(src, spitch, from), dst: in_array(to), width, height })
}

fn from_array(
    dst: Ptr,
    dpitch: usize,
    from: Place,
    width: usize,
    height: usize,
    kind: CopyKind,
) -> Result<DriverMemcpy2D, Status> {
    let (_, to) = Direction::of(kind)?.memory();
    if height > 1 && width > dpitch {
        return Err(code::INVALID_PITCH);
    }
    Ok(DriverMemcpy2D { src: in_array(from), dst: at_2d(dst, dpitch, to), width, height })
}

/// One end of a run of bytes.
#[derive(Clone, Copy)]
enum End {
    /// An address, of a kind of memory.
    Linear(usize, i32),
    /// A position in an array, and the bytes of its rows.
    Array(Place, usize),
}

impl End {
    fn array(place: Place) -> Result<Self, Status> {
        context::ready()?;
        let row = row_bytes(place.0.0)?;
        if row == 0 || place.1 > row {
            return Err(code::INVALID_VALUE);
        }
        Ok(Self::Array(place, row))
    }

    /// Bytes up to the row's end.
    fn left(self) -> usize {
        match self {
            Self::Linear(..) => usize::MAX,
            Self::Array((_, x, _), row) => row - x,
        }
    }

    /// Bytes of a row, where a row begins here.
    fn whole(self) -> Option<usize> {
        match self {
            Self::Array((_, 0, _), row) => Some(row),
            _ => None,
        }
    }

    fn side(self, pitch: usize) -> Side2D {
        match self {
            Self::Linear(at, kind) => at_2d(Ptr(at), pitch, kind),
            Self::Array(place, _) => in_array(place),
        }
    }

    /// The position `bytes` further on.
    fn after(self, bytes: usize) -> Self {
        match self {
            Self::Linear(at, kind) => Self::Linear(at.wrapping_add(bytes), kind),
            Self::Array((array, x, y), row) => {
                let bytes = x + bytes;
                Self::Array((array, bytes % row, y + bytes / row), row)
            }
        }
    }
}

fn run_to(
    to: Place,
    src: Ptr,
    count: usize,
    kind: CopyKind,
    copy: impl Fn(&DriverMemcpy2D) -> Result<(), Status>,
) -> Result<(), Status> {
    let (from, _) = Direction::of(kind)?.memory();
    run(End::Linear(src.0, from), End::array(to)?, count, copy)
}

fn run_from(
    dst: Ptr,
    from: Place,
    count: usize,
    kind: CopyKind,
    copy: impl Fn(&DriverMemcpy2D) -> Result<(), Status>,
) -> Result<(), Status> {
    let (_, to) = Direction::of(kind)?.memory();
    run(End::array(from)?, End::Linear(dst.0, to), count, copy)
}

/// Copies a run of bytes in rectangles: as many whole rows at once as both ends allow.
fn run(
    mut from: End,
    mut to: End,
    mut count: usize,
    copy: impl Fn(&DriverMemcpy2D) -> Result<(), Status>,
) -> Result<(), Status> {
    while count > 0 {
        let mut width = count.min(from.left()).min(to.left());
        let mut height = 1;
        let rows = match (from, to) {
            (End::Linear(..), other) | (other, End::Linear(..)) => other.whole(),
            _ => from.whole().filter(|&row| to.whole() == Some(row)),
        };
        if let Some(row) = rows.filter(|&row| row <= count) {
            (width, height) = (row, count / row);
        }
        let (src, dst) = (from.side(width), to.side(width));
        copy(&DriverMemcpy2D { src, dst, width, height })?;
        let done = width * height;
        (from, to) = (from.after(done), to.after(done));
        count -= done;
    }
    Ok(())
}
