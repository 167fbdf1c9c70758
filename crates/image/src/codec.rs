//! Unpacking and packing with a bound. Owns the choice of decompressors; must
//! not know which container the bytes come from.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::packing::Codec;
use crate::work::Work;

/// Largest window accepted when unpacking a stream: 128 MiB, zstd's own bound.
const ZSTD_WINDOW_LOG: u32 = 27;

/// The four bytes a Zstandard frame begins with.
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// DEFLATE yields at most 258 bytes for a code of two bits.
const ZLIB_MAX_RATIO: u64 = 1032;

/// An LZ4 sequence yields at most 255 bytes for each byte of its length field.
const LZ4_MAX_RATIO: u64 = 255;

/// Unpacks `packed` (at offset `at` of the outermost bytes) to exactly `size`
/// bytes.
///
/// Memory: `size` bytes, after `size` was checked against `limits`, the codec's maximum ratio, and
/// (zstd) the frame's stated size.
pub fn unpack(codec: Codec, packed: &[u8], size: u64, at: u64, limits: &Limits) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    unpack_into(&mut out, codec, packed, size, at, limits)?;
    Ok(out)
}

/// As [`unpack`], into a reused buffer: fresh memory costs as much as unpacking. The contents of
/// `out` are undefined after an error.
pub fn unpack_into(
    out: &mut Vec<u8>,
    codec: Codec,
    packed: &[u8],
    size: u64,
    at: u64,
    limits: &Limits,
) -> Result<()> {
    check(codec, packed, size, at, limits)?;
    let wrong = |found: String| Error::Packed { codec, at, found, expected: size };
    let length = usize::try_from(size).map_err(|_| wrong("more than memory".into()))?;
    // LZ4 needs initialised memory: the buffer's former contents suffice.
    if codec != Codec::Lz4 {
        out.clear();
    }
    out.try_reserve_exact(length.saturating_sub(out.len()))
        .map_err(|_| wrong("no memory to unpack into".into()))?;
    let written = match codec {
        Codec::None => {
            out.extend_from_slice(packed);
            packed.len()
        }
        Codec::Lz4 => {
            out.resize(length, 0);
            lz4_flex::block::decompress_into(packed, out)
                .map_err(|error| wrong(error.to_string()))?
        }
        // A reused buffer may be larger than the image; zstd then reports the
        // true size, which is compared below.
        Codec::Zstd => zstd_safe::decompress(out, packed)
            .map_err(|code| wrong(zstd_safe::get_error_name(code).to_owned()))?,
        Codec::Zlib => unzip(packed, out).map_err(wrong)?,
    };
    if written as u64 != size || out.len() as u64 != size {
        return Err(wrong(format!("{written} bytes")));
    }
    Ok(())
}

/// Unpacks one zlib stream into the capacity of `out`.
fn unzip(packed: &[u8], out: &mut Vec<u8>) -> std::result::Result<usize, String> {
    use flate2::{Decompress, FlushDecompress, Status};
    let mut stream = Decompress::new(true);
    match stream.decompress_vec(packed, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(out.len()),
        Ok(_) => Err(format!("no end after {} bytes", out.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// The first `want` bytes (fewer where the stream is shorter) of what `packed` unpacks to: enough
/// to read a table at its start. Not possible for LZ4 blocks.
pub fn unpack_prefix(codec: Codec, packed: &[u8], want: usize, at: u64) -> Result<Vec<u8>> {
    let wrong = |found: String| Error::Packed { codec, at, found, expected: want as u64 };
    let mut out = Vec::with_capacity(want);
    match codec {
        Codec::None => {
            out.extend_from_slice(packed.get(..want.min(packed.len())).unwrap_or_default())
        }
        Codec::Lz4 => return Err(wrong("an LZ4 block, which unpacks as a whole".into())),
        Codec::Zlib => {
            let mut stream = flate2::Decompress::new(true);
            stream
                .decompress_vec(packed, &mut out, flate2::FlushDecompress::None)
                .map_err(|error| wrong(error.to_string()))?;
        }
        Codec::Zstd => {
            let fail = |code| wrong(zstd_safe::get_error_name(code).to_owned());
            let mut stream = zstd_safe::DCtx::try_create()
                .ok_or_else(|| wrong("no memory for a decoder".into()))?;
            // A frame may ask for a window of gigabytes; a bundle's needs less.
            stream
                .set_parameter(zstd_safe::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
                .map_err(fail)?;
            let mut input = zstd_safe::InBuffer::around(packed);
            let mut output = zstd_safe::OutBuffer::around(&mut out);
            loop {
                let before = (input.pos(), output.pos());
                let hint = stream.decompress_stream(&mut output, &mut input).map_err(fail)?;
                if hint == 0 || output.pos() == want || before == (input.pos(), output.pos()) {
                    break;
                }
            }
        }
    }
    Ok(out)
}

/// How many bytes of `packed` the stream at its start takes. Charges `work` for the bytes read and
/// unpacked to find out.
pub fn packed_size(
    codec: Codec,
    packed: &[u8],
    at: u64,
    limits: &Limits,
    work: &mut Work,
) -> Result<u64> {
    let wrong = |found: String| Error::Packed { codec, at, found, expected: 0 };
    match codec {
        Codec::Zstd => match zstd_safe::find_frame_compressed_size(packed) {
            Ok(size) => work.look(size as u64, at).map(|()| size as u64),
            // The decoder does not say where it ended: perhaps at the end of the input.
            Err(code) => {
                work.look(packed.len() as u64, at)?;
                Err(wrong(zstd_safe::get_error_name(code).to_owned()))
            }
        },
        Codec::Zlib => {
            let mut stream = flate2::Decompress::new(true);
            let mut sink = [0; 16 << 10];
            while stream.total_out() <= limits.max_image {
                let (taken, made) = (stream.total_in(), stream.total_out());
                let rest = packed.get(taken as usize..).unwrap_or_default();
                let status = stream
                    .decompress(rest, &mut sink, flate2::FlushDecompress::None)
                    .map_err(|error| wrong(error.to_string()))?;
                work.unpack(stream.total_out() - made, at, limits)?;
                work.look(stream.total_in() - taken, at)?;
                if status == flate2::Status::StreamEnd {
                    return Ok(stream.total_in());
                }
                if (taken, made) == (stream.total_in(), stream.total_out()) {
                    break;
                }
            }
            Err(wrong("a stream without an end".into()))
        }
        Codec::None | Codec::Lz4 => Ok(packed.len() as u64),
    }
}

/// Checks a claimed size without unpacking.
fn check(codec: Codec, packed: &[u8], size: u64, at: u64, limits: &Limits) -> Result<()> {
    let too_big =
        |limit, name| Error::TooBig { what: "unpacked image", at, found: size, limit, name };
    if size > limits.max_image {
        return Err(too_big(limits.max_image, "max_image"));
    }
    let most = (packed.len() as u64).saturating_mul(limits.max_ratio);
    if size > Limits::RATIO_FLOOR && size > most {
        return Err(too_big(most, "max_ratio"));
    }
    let wrong = |found: String| Error::Packed { codec, at, found, expected: size };
    match codec {
        Codec::Lz4 if size > (packed.len() as u64).saturating_mul(LZ4_MAX_RATIO) => {
            Err(wrong(format!("{} packed bytes, which cannot hold so many", packed.len())))
        }
        Codec::Zlib if size > (packed.len() as u64).saturating_mul(ZLIB_MAX_RATIO) => {
            Err(wrong(format!("{} packed bytes, which cannot hold so many", packed.len())))
        }
        Codec::Zstd => match zstd_safe::get_frame_content_size(packed) {
            // Several frames may follow each other: the first only states its own size.
            Ok(Some(first)) if first > size => Err(wrong(format!("a frame of {first} bytes"))),
            Ok(_) => Ok(()),
            Err(_) => Err(wrong("no zstd frame header".into())),
        },
        _ => Ok(()),
    }
}

/// Packs `data`; the inverse of [`unpack`]. `level` is for zstd (1–22); LZ4 has only one. Fails
/// only where the level is refused or memory runs out.
pub fn pack(codec: Codec, data: &[u8], level: i32) -> Result<Vec<u8>> {
    match codec {
        Codec::None => Ok(data.to_vec()),
        Codec::Lz4 => Ok(lz4_flex::block::compress(data)),
        Codec::Zlib => {
            let level = flate2::Compression::new(level.clamp(0, 9) as u32);
            let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), level);
            std::io::Write::write_all(&mut stream, data).and_then(|()| stream.finish()).map_err(
                |error| Error::Packed {
                    codec,
                    at: 0,
                    found: error.to_string(),
                    expected: data.len() as u64,
                },
            )
        }
        Codec::Zstd => {
            let mut out = Vec::with_capacity(zstd_safe::compress_bound(data.len()));
            zstd_safe::compress(&mut out, data, level).map_err(|code| Error::Packed {
                codec,
                at: 0,
                found: zstd_safe::get_error_name(code).to_owned(),
                expected: data.len() as u64,
            })?;
            Ok(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        (0..300_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
    }

    #[test]
    fn round_trip() {
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Zlib] {
            for data in [sample(), vec![7], vec![]] {
                let packed = pack(codec, &data, 3).unwrap();
                let size = data.len() as u64;
                assert_eq!(unpack(codec, &packed, size, 0, &Limits::DEFAULT).unwrap(), data);
            }
        }
    }

    #[test]
    fn buffers_are_used_again() {
        let (data, mut out) = (sample(), Vec::new());
        for codec in [Codec::Zstd, Codec::Lz4, Codec::None, Codec::Zlib, Codec::Lz4] {
            for data in [&data[..], &data[..1000], &data[..100_000]] {
                let packed = pack(codec, data, 3).unwrap();
                let size = data.len() as u64;
                unpack_into(&mut out, codec, &packed, size, 0, &Limits::DEFAULT).unwrap();
                assert_eq!(out, data);
            }
        }
    }

    #[test]
    fn prefixes_and_packed_sizes() {
        let data = sample();
        for codec in [Codec::Zstd, Codec::Zlib] {
            let packed = pack(codec, &data, 3).unwrap();
            let padded = [packed.as_slice(), b"what follows"].concat();
            let mut work = Work::new(padded.len(), &Limits::DEFAULT);
            assert_eq!(unpack_prefix(codec, &padded, 5000, 0).unwrap(), data[..5000]);
            let size = packed_size(codec, &padded, 0, &Limits::DEFAULT, &mut work).unwrap();
            assert_eq!(size, packed.len() as u64);
            assert!(packed_size(codec, &packed[..100], 0, &Limits::DEFAULT, &mut work).is_err());
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let data = sample();
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Zlib] {
            let packed = pack(codec, &data, 3).unwrap();
            for size in [0, data.len() as u64 - 1, data.len() as u64 + 1, u64::MAX] {
                let error = unpack(codec, &packed, size, 5, &Limits::DEFAULT).unwrap_err();
                assert!(matches!(error, Error::Packed { .. } | Error::TooBig { .. }), "{error}");
            }
        }
    }

    #[test]
    fn bombs_are_refused_before_memory_is_taken() {
        let packed = pack(Codec::Zstd, &vec![0; 65 << 20], 19).unwrap();
        let error = unpack(Codec::Zstd, &packed, 65 << 20, 0, &Limits::DEFAULT).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_ratio", .. }), "{error}");
        let limits = Limits { max_image: 1000, ..Limits::DEFAULT };
        let error = unpack(Codec::Lz4, &[0; 100], 1001, 0, &limits).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_image", .. }), "{error}");
    }

    #[test]
    fn streams_pay_for_what_they_unpack_to() {
        let limits = Limits { max_total: 50_000, ..Limits::DEFAULT };
        let size = |bytes: usize| {
            let packed = pack(Codec::Zlib, &vec![0; bytes], 9).unwrap();
            packed_size(Codec::Zlib, &packed, 0, &limits, &mut Work::new(packed.len(), &limits))
        };
        assert!(size(50_000).is_ok());
        let error = size(50_001).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_total", .. }), "{error}");
    }

    /// A frame may request a window of 2 GiB of memory.
    #[test]
    fn windows_have_a_limit() {
        let frame = |window: u8| {
            let mut out = ZSTD_MAGIC.to_vec();
            // No content size, the window's exponent, one raw block that is the last.
            out.extend_from_slice(&[0, window, 0x21, 0, 0, 1, 2, 3, 4]);
            unpack_prefix(Codec::Zstd, &out, 4, 0)
        };
        assert_eq!(frame(((ZSTD_WINDOW_LOG - 10) << 3) as u8).unwrap(), [1, 2, 3, 4]);
        assert!(frame(((ZSTD_WINDOW_LOG - 9) << 3) as u8).is_err());
    }
}
