//! Copies and sets: their size, source and destination, as far as the call's arguments tell.
//!
//! Must not know: which functions there are; `cushim_abi::work` does.

use cushim_abi::types::Shape;
use cushim_abi::work::{Direction, Transfer, transfer};
use cushim_trace::event::Call;
use cushim_trace::meta::Api;

/// How one function describes what it copies.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Words whose product is the size.
    factors: Vec<usize>,
    /// Bytes of one element.
    unit: u64,
    kind: Option<usize>,
    direction: Direction,
    is_async: bool,
}

/// What one call copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// From where to where.
    pub direction: Direction,
    /// The function is one that need not wait.
    pub is_async: bool,
    /// How much; `None` where the arguments do not tell.
    pub bytes: Option<u64>,
}

impl Rule {
    /// The rule of a function that copies or sets.
    pub fn of(api: &Api) -> Self {
        // Traces of versions to come may name functions that are not known here.
        const UNKNOWN: Transfer =
            Transfer { direction: Direction::Unsaid, is_async: false, unit: 1, size: &[] };
        let transfer = transfer(&api.name).unwrap_or(UNKNOWN);
        let place = |name: &&str| api.args.iter().position(|(n, _)| n == name);
        let factors: Option<Vec<usize>> = transfer.size.iter().map(place).collect();
        let kind = Shape::CopyKind.word();
        Rule {
            factors: factors.unwrap_or_default(),
            unit: transfer.unit,
            kind: api.args.iter().position(|(_, shape)| shape == kind),
            direction: transfer.direction,
            is_async: transfer.is_async,
        }
    }

    /// What `call` copied.
    pub fn read(&self, call: &Call<'_>) -> Copied {
        let bytes = match self.factors.as_slice() {
            [] => None,
            factors => {
                factors.iter().try_fold(self.unit, |size, &n| size.checked_mul(call.words.get(n)?))
            }
        };
        // cudaMemcpyKind of driver_types.h.
        let direction = match self.kind.and_then(|n| call.words.get(n)).map(|k| k as u32) {
            Some(0) => Direction::HostToHost,
            Some(1) => Direction::HostToDevice,
            Some(2) => Direction::DeviceToHost,
            Some(3) => Direction::DeviceToDevice,
            Some(_) => Direction::Unsaid,
            None => self.direction,
        };
        Copied { direction, is_async: self.is_async, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cushim_trace::event::{Texts, Words};

    fn copied(name: &str, args: &[(&str, &str)], words: &[u64]) -> Copied {
        let args = args.iter().map(|(n, s)| ((*n).to_owned(), (*s).to_owned())).collect();
        let api = Api { name: name.to_owned(), class: "copy".to_owned(), args };
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let (words, texts) = (Words::new(&bytes), Texts::default());
        Rule::of(&api).read(&Call { kernel: 0, outs: 0, words, texts })
    }

    #[test]
    fn sizes_and_directions() {
        let ptr = ("dst", "ptr");
        let kind = ("kind", "memcpykind");
        let plain = copied("cudaMemcpy", &[ptr, ptr, ("count", "size"), kind], &[1, 2, 4096, 2]);
        assert_eq!((plain.bytes, plain.direction), (Some(4096), Direction::DeviceToHost));
        let sized = [ptr, ("width", "size"), ("height", "size"), kind];
        let plane = copied("cudaMemcpy2DAsync", &sized, &[1, 64, 10, 1]);
        assert_eq!((plane.bytes, plane.is_async), (Some(640), true));
        let driver = copied("cuMemcpyHtoD_v2", &[ptr, ptr, ("ByteCount", "size")], &[1, 2, 7]);
        assert_eq!((driver.bytes, driver.direction), (Some(7), Direction::HostToDevice));
        let set = copied("cuMemsetD32Async", &[ptr, ("ui", "uint"), ("N", "size")], &[1, 2, 7]);
        assert_eq!((set.bytes, set.direction), (Some(28), Direction::Set));
        let batch = copied("cudaMemcpyBatchAsync", &[ptr, ("count", "size")], &[1, 2]);
        assert_eq!((batch.bytes, batch.direction), (None, Direction::Unsaid));
        assert_eq!(copied("cudaMemcpy3D", &[("p", "ptr")], &[1]).bytes, None);
        let cut = copied("cuMemcpy", &[ptr, ptr, ("ByteCount", "size")], &[1]);
        assert_eq!(cut.bytes, None);
        let huge = copied("cudaMemcpy2D", &sized, &[1, u64::MAX, 3, 9]);
        assert_eq!((huge.bytes, huge.direction), (None, Direction::Unsaid));
    }
}
