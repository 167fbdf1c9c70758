//! Boxes of tensors: im2col mode, and tensor maps that kernels change.
//!
//! Owns kernels and their expected results, by the layouts of the PTX ISA ("Im2col mode", "tensormap.replace"). Must not know how
//! maps are stored.

use crate::common;

use common::device::Device;
use cushim_ptx::exec::tensor::{Corners, Modes, TensorMap};
use cushim_ptx::types::Scalar;

/// Words of shared memory that a kernel returns.
const WORDS: usize = 512;

/// A kernel that changes a map, copies with it, and returns the data; %r1 is shared memory, %rd1 the map.
fn text(before: &str, copy: &str, bytes: usize) -> String {
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 map0, .param .u64 out0, .param .u64 other0) {{
.shared .align 1024 .b8 room[{}];
.shared .align 128 .b8 own[128];
.shared .align 8 .b64 object;
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<4>; .reg .pred %p;
ld.param.u64 %rd1, [map0]; ld.param.u64 %rd2, [out0]; ld.param.u64 %rd5, [other0];
mov.u32 %r1, room; mov.u32 %r2, object; mov.u32 %r7, own;
mbarrier.init.shared::cta.b64 [%r2], 1;
{before}
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};
{copy}
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [%r2], 0; @!%p bra WAIT;
mov.u32 %r3, 0;
COPY: add.u32 %r4, %r1, %r3; ld.shared.b32 %r5, [%r4];
cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd2, %rd3; st.global.b32 [%rd4], %r5;
add.u32 %r3, %r3, 4; setp.lt.u32 %p, %r3, {}; @%p bra COPY;
ret; }}
",
        4 * WORDS,
        4 * WORDS
    )
}

/// The words that a kernel returns; the tensor's words count from 1.
fn given(text: &str, map: impl Fn(u64) -> TensorMap) -> Result<Vec<u32>, String> {
    let device = Device::new(text);
    let words: Vec<u32> = (1..=4096).collect();
    let tensor = device.upload(&words, |n| n.to_le_bytes());
    let map = device.upload(&map(tensor).to_bytes(), |b| [*b]);
    let out = device.alloc(4 * WORDS as u64);
    device.launch("k", 1, 1, &[map, out, tensor + 1024]).map_err(|e| e.to_string())?;
    Ok(device.u32s(out, WORDS))
}

fn images(address: u64, steps: u32, corners: Corners) -> TensorMap {
    TensorMap {
        address,
        element: Scalar::U32,
        modes: Modes::default(),
        sizes: vec![8, 9, 6, 3],
        strides: vec![32, 288, 1728],
        boxes: vec![4, 30, 1, 1],
        steps: vec![1, steps, steps, steps],
        swizzle: 0,
        columns: Some(corners),
    }
}

const LOAD: &str = "mov.b16 %h1, 2;
cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {6, -1, 3, 1}], [%r2], {%h1, 1};";

#[test]
fn pixels_follow_each_other_within_their_box() {
    for steps in 1..=3 {
        let corners = Corners { lower: [-1, 0, 0], upper: [-2, -1, 0] };
        let found = given(&text("", LOAD, 480), |at| images(at, steps, corners)).unwrap();
        // Every pixel of the box, image by image, from the first on.
        let step = steps as usize;
        let places = (1..99i64).step_by(step).flat_map(|n| {
            let rows = (if n == 1 { 3 } else { 0 }..5i64).step_by(step);
            rows.flat_map(move |h| (-1..7i64).step_by(step).map(move |w| (w + 2, h + 1, n)))
        });
        let expected = places.take(30).flat_map(|(w, h, n)| {
            (6..10i64).map(move |c| {
                let inside = c < 8 && (0..9).contains(&w) && (0..6).contains(&h) && n < 3;
                if inside { (1 + c + 8 * w + 72 * h + 432 * n) as u32 } else { 0 }
            })
        });
        let expected: Vec<u32> = expected.collect();
        assert_eq!(expected.len(), 120);
        assert_eq!(found[..120], expected, "every {steps}");
        assert_eq!(found[120..], [0; WORDS - 120]);
    }
}

/// For sums of singles by a tensor map, an H100 gives the results of type `FLOAT32`, not of `FLOAT32_FTZ`.
#[test]
fn sums_of_singles_keep_subnormal_numbers() {
    let fill = "mov.u32 %r5, 3; st.shared.b32 [%r1], %r5; st.shared.b32 [%r1+4], %r5;
st.shared.b32 [%r1+8], %r5; st.shared.b32 [%r1+12], %r5;";
    let add =
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {0}], [%r1];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
ld.global.b32 %r5, [%rd5+-1024]; st.shared.b32 [%r1], %r5;
ld.global.b32 %r5, [%rd5+-1012]; st.shared.b32 [%r1+12], %r5;";
    let found = given(&text(fill, add, 0), |address| TensorMap {
        address,
        element: Scalar::F32,
        modes: Modes::default(),
        sizes: vec![4096],
        strides: Vec::new(),
        boxes: vec![4],
        steps: vec![1],
        swizzle: 0,
        columns: None,
    });
    // The tensor's words count from 1: as singles they are the smallest subnormals.
    assert_eq!(found.unwrap()[..4], [4, 3, 3, 7]);
}

/// The starts of boxes of 8 by 6 words in a tensor of 64 by 32, and whether an H100 loads and stores them; for the others it fails with
/// an illegal instruction.
const PLACES: [(i32, i32, [bool; 2]); 10] = [
    (4, 3, [true, true]),
    (-4, 3, [true, false]),
    (4, -1, [true, false]),
    (56, 3, [true, true]),
    (60, 3, [true, true]),
    (64, 3, [true, true]),
    (4, 29, [true, true]),
    (4, 32, [true, true]),
    (6, 3, [false, false]),
    (-2, 3, [false, false]),
];

#[test]
fn tiles_begin_where_an_h100_takes_them() {
    let area = |address| TensorMap {
        address,
        element: Scalar::U32,
        modes: Modes::default(),
        sizes: vec![64, 32],
        strides: vec![256],
        boxes: vec![8, 6],
        steps: vec![1, 1],
        swizzle: 0,
        columns: None,
    };
    for (x, y, taken) in PLACES {
        let load = format!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {{{x}, {y}}}], [%r2];"
        );
        let store = format!(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {{{x}, {y}}}], [%r1];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        );
        for (copy, bytes, taken) in [(load, 192, taken[0]), (store, 0, taken[1])] {
            match given(&text("", &copy, bytes), area) {
                Ok(_) => assert!(taken, "{x} {y}: {copy}"),
                Err(why) => {
                    assert!(!taken && why.contains("a box begins at"), "{x} {y}: {why}");
                }
            }
        }
    }
}

#[test]
fn columns_begin_within_their_pixels() {
    for (place, taken) in [("6, -1, 3, 1", true), ("6, -2, 3, 1", false), ("6, -1, 5, 1", false)] {
        let corners = Corners { lower: [-1, 0, 0], upper: [-2, -1, 0] };
        let load = LOAD.replace("6, -1, 3, 1", place);
        let found = given(&text("", &load, 480), |at| images(at, 1, corners));
        assert_eq!(found.is_ok(), taken, "{place}: {:?}", found.err());
    }
}

#[test]
fn maps_are_of_one_kind() {
    let corners = Corners { lower: [0; 3], upper: [0; 3] };
    let why =
        given(&text("", LOAD, 480), |at| TensorMap { columns: None, ..images(at, 1, corners) });
    assert!(why.unwrap_err().contains("no tensor map"));
    let tile = "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0, 0, 0}], [%r2];";
    let why = given(&text("", tile, 480), |at| images(at, 1, corners));
    assert!(why.unwrap_err().contains("no tensor map"));
}

#[test]
fn kernels_replace_fields_of_maps() {
    let tile = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {4, 1}], [%r2];";
    let plain = |address| TensorMap {
        address,
        element: Scalar::U32,
        modes: Modes::default(),
        sizes: vec![64],
        strides: vec![],
        boxes: vec![8],
        steps: vec![1],
        swizzle: 0,
        columns: None,
    };
    let replace = |space: &str, at: &str| {
        let field = |name: &str, wide: u32, operands: &str| {
            format!("tensormap.replace.tile.{name}{space}.b1024.b{wide} [{at}], {operands};\n")
        };
        field("global_address", 64, "%rd5")
            + &field("rank", 32, "1")
            + &field("global_dim", 32, "0, 7")
            + &field("global_dim", 32, "1, 4")
            + &field("global_stride", 64, "0, 128")
            + &field("box_dim", 32, "0, 4")
            + &field("box_dim", 32, "1, 8")
            + &field("element_stride", 32, "1, 2")
            + &field("elemtype", 32, "3")
            + &field("swizzle_mode", 32, "0")
            + &field("interleave_layout", 32, "0")
            + &field("fill_mode", 32, "0")
    };
    // Copied to shared memory, word by word, changed there, and copied back.
    let mut copied = String::new();
    for at in (0..128).step_by(8) {
        copied += &format!("ld.global.b64 %rd6, [%rd1+{at}]; st.shared.b64 [%r7+{at}], %rd6;\n");
    }
    copied += &replace(".shared::cta", "%r7");
    copied += "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r7], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
    let mut expected = vec![0; WORDS];
    for (row, h) in (1..8).step_by(2).enumerate() {
        for (column, w) in (4..8).enumerate() {
            if w < 7 && h < 4 {
                expected[4 * row + column] = 1 + 256 + w + 32 * h;
            }
        }
    }
    for before in [replace(".global", "%rd1"), replace("", "%rd1"), copied] {
        assert_eq!(given(&text(&before, tile, 64), plain).unwrap(), expected, "{before}");
    }
    // Undefined field values make the map invalid.
    for wrong in ["fill_mode.global.b1024.b32 [%rd1], 2", "elemtype.global.b1024.b32 [%rd1], 13"] {
        let before = format!("tensormap.replace.tile.{wrong};");
        let why = given(&text(&before, tile, 64), plain).unwrap_err();
        assert!(why.contains("no tensor map"), "{why}");
    }
}

/// The expected words of a box of two axes that begins at (4, 1) in a tensor of 64 columns.
fn tile_of(map: impl Fn(TensorMap) -> TensorMap, bytes: usize) -> Vec<u32> {
    let tile = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {4, 1}], [%r2];";
    let plain = |address| TensorMap {
        address,
        element: Scalar::U32,
        modes: Modes::default(),
        sizes: vec![64, 16],
        strides: vec![256],
        boxes: vec![8, 3],
        steps: vec![1, 1],
        swizzle: 0,
        columns: None,
    };
    given(&text("", tile, bytes), |at| map(plain(at))).unwrap()
}

#[test]
fn rows_narrower_than_the_swizzle_leave_room() {
    let found = tile_of(|map| TensorMap { swizzle: 128, boxes: vec![8, 3], ..map }, 96);
    let mut expected = vec![0; WORDS];
    for row in 0..3 {
        for column in 0..8 {
            // The swizzle permutes units of 16 bytes within the 128 bytes of each row.
            let unit = (column / 4) ^ row;
            expected[row * 32 + unit * 4 + column % 4] = (1 + 4 + column + 64 * (1 + row)) as u32;
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn what_lies_outside_may_be_no_number() {
    let modes = Modes { nan: true, ..Modes::default() };
    let found =
        tile_of(|map| TensorMap { element: Scalar::F32, modes, sizes: vec![9, 3], ..map }, 96);
    for (n, word) in found[..24].iter().enumerate() {
        let (row, column) = (n / 8, n % 8);
        let inside = column < 5 && row < 2;
        let expected = if inside { (1 + 4 + column + 64 * (1 + row)) as u32 } else { 0x7ff7_7ff7 };
        assert_eq!(*word, expected, "{row} {column}");
    }
}

#[test]
fn slices_of_channels_are_one_index() {
    let tile = "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {2, 1, 0}], [%r2];";
    for (slice, words) in [(16, 4), (32, 8)] {
        let found = given(&text("", tile, 2 * 3 * slice), |address| TensorMap {
            address,
            element: Scalar::U16,
            modes: Modes { slice: slice as u32, ..Modes::default() },
            // Pixels, slices, images.
            sizes: vec![5, 3, 2],
            strides: vec![5 * slice as u64, 15 * slice as u64],
            boxes: vec![6, 4, 2],
            steps: vec![2, 1, 1],
            swizzle: 0,
            columns: None,
        })
        .unwrap();
        let mut expected = Vec::new();
        for image in 0..2 {
            for pixel in [2, 4, 6] {
                for word in 0..words {
                    let at = 1 + word + words * (pixel + 5 + 15 * image);
                    expected.push(if pixel < 5 { at as u32 } else { 0 });
                }
            }
        }
        assert_eq!(found[..expected.len()], expected, "slices of {slice} bytes");
    }
}
