//! Copies and sets: how many bytes, from where to where, as far as the call's arguments tell.
//!
//! Must not know: which functions there are; names and shapes of arguments decide.

use cushim_trace::event::Call;
use cushim_trace::meta::Api;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// Between devices.
    Peer,
    /// Host to host.
    HostToHost,
    /// A value written to device memory.
    Set,
    /// CUDA decides by the addresses, or a structure says it that is not recorded.
    Unsaid,
}

impl Direction {
    /// The word for it, also in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::DeviceToDevice => "device to device",
            Direction::Peer => "peer to peer",
            Direction::HostToHost => "host to host",
            Direction::Set => "set",
            Direction::Unsaid => "by address",
        }
    }
}

/// How one function says what it copies.
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
    /// Of a function that copies or sets.
    pub fn of(api: &Api) -> Self {
        let place = |name: &str| api.args.iter().position(|(n, _)| n == name);
        let name = api.name.as_str();
        let batch = name.contains("Batch");
        // The names are those of CUDA's manual: `count` (runtime), `ByteCount` (driver), `N` elements of
        // cuMemsetD8/16/32, `width` and `height` in bytes and rows (in elements for cuMemsetD2D).
        let single = ["count", "ByteCount", "N"].iter().find_map(|name| place(name));
        let plane = || {
            let find = |names: [&str; 2]| names.iter().find_map(|n| place(n));
            Some(vec![find(["width", "Width"])?, find(["height", "Height"])?])
        };
        let factors = match single {
            _ if batch => Vec::new(),
            Some(count) => vec![count],
            None => plane().unwrap_or_default(),
        };
        let set = name.contains("emset");
        let unit = match () {
            () if set && name.contains("D32") => 4,
            () if set && name.contains("D16") => 2,
            () => 1,
        };
        const WORDS: [(&str, Direction); 8] = [
            ("HtoD", Direction::HostToDevice),
            ("HtoA", Direction::HostToDevice),
            ("DtoH", Direction::DeviceToHost),
            ("AtoH", Direction::DeviceToHost),
            ("DtoD", Direction::DeviceToDevice),
            ("DtoA", Direction::DeviceToDevice),
            ("AtoD", Direction::DeviceToDevice),
            ("Peer", Direction::Peer),
        ];
        let found = WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, d)| *d);
        Rule {
            factors,
            unit,
            kind: api.args.iter().position(|(_, shape)| shape == "memcpykind"),
            direction: if set { Direction::Set } else { found.unwrap_or(Direction::Unsaid) },
            is_async: name.contains("Async"),
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
