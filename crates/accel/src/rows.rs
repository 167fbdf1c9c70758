//! Copies and fills of rows and planes.
//!
//! Owns the address of each row. Must not know: what is at an address, or who copies.

/// Bytes from one place to another. Addresses are of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// First byte written.
    pub to: u64,
    /// First byte read.
    pub from: u64,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub height: usize,
    /// Planes.
    pub depth: usize,
    /// Bytes from row to row: destination, source.
    pub row: [usize; 2],
    /// Bytes from plane to plane: destination, source.
    pub plane: [usize; 2],
}

impl Copy {
    /// A copy of `bytes` in one row.
    pub const fn line(to: u64, from: u64, bytes: usize) -> Copy {
        Copy { to, from, width: bytes, height: 1, depth: 1, row: [0; 2], plane: [0; 2] }
    }

    /// The first bytes of each row: destination, source.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let copy = *self;
        let [(to_row, from_row), (to_plane, from_plane)] =
            [copy.row, copy.plane].map(|[to, from]| (to, from));
        (0..copy.depth).flat_map(move |z| {
            (0..copy.height).map(move |y| {
                let to = copy.to + (z * to_plane + y * to_row) as u64;
                (to, copy.from + (z * from_plane + y * from_row) as u64)
            })
        })
    }

    /// The same as one row, if rows and planes are contiguous: destination, source, bytes.
    pub fn linear(&self) -> Option<(u64, u64, usize)> {
        let rows = self.height <= 1 || self.row == [self.width; 2];
        let plane = self.width * self.height.max(1);
        let planes = self.depth <= 1 || self.plane == [plane; 2];
        (rows && planes).then(|| (self.to, self.from, plane * self.depth.max(1)))
    }
}

/// A repeated value.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// First byte written.
    pub to: u64,
    /// The value; its lowest `size` bytes count.
    pub value: u32,
    /// 1, 2 or 4 bytes.
    pub size: usize,
    /// Values in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes from row to row.
    pub pitch: usize,
}

impl Fill {
    /// The first byte of each row.
    pub fn rows(&self) -> impl Iterator<Item = u64> {
        let Fill { to, height, pitch, .. } = *self;
        (0..height).map(move |y| to + (y * pitch) as u64)
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.width * self.size.clamp(1, 4)
    }
}
