//! The server with the test's own device, which follows the protocol: 1, 32 and 64 lanes, and requests that the programs
//! of `c-tests/load` cannot make by themselves.

use cushim_rpc::files::Streams;
use cushim_rpc::layout::Opcode;
use cushim_rpc::{Allow, End, Server, Shape};
use cushim_testkit::rpc::{Device, FUNCTION, Plain, Shared, TWICE, streams, written};

/// The result: how the server ended, and the text on standard output and standard error.
fn serve(
    shape: (u32, u32),
    input: &str,
    allow: Allow,
    device: impl Fn(&Shared) + Send,
) -> (End, String, String) {
    let shared = Shared::new(Shape::new(shape.0, shape.1).unwrap());
    // SAFETY: the server ends before the memory is freed, and only devices access the memory.
    let line = unsafe { shared.line() };
    let (standard, files): (Streams, _) = streams(input.as_bytes());
    let end = std::thread::scope(|scope| {
        let mut server = Server::new(Plain::default(), standard, allow);
        let line = &line;
        let served = scope.spawn(move || server.serve(line));
        // Also after a panic, so that the test fails and does not hang.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| device(&shared)));
        line.end();
        let end = served.join().unwrap();
        done.unwrap();
        end
    });
    // SAFETY: nothing uses them any more.
    let [_, out, error] = files.map(|file| String::from_utf8(unsafe { written(file) }).unwrap());
    (end, out, error)
}

fn packet(words: &[u64]) -> [u64; 8] {
    std::array::from_fn(|word| words.get(word).copied().unwrap_or(0))
}

#[test]
fn messages_of_each_lane_and_of_any_size() {
    for (lanes, mask) in
        [(1, 1), (32, 0xffff_ffff), (32, 0x8000_0010), (64, u64::MAX), (64, 1 << 63 | 2)]
    {
        let (end, out, error) = serve((3, lanes), "", Allow::default(), |shared| {
            for port in 0..3 {
                let text = |lane: u32| format!("{port}.{lane}:{}\n", "x".repeat(lane as usize * 5));
                let opcode =
                    if port == 1 { Opcode::WRITE_TO_STDERR } else { Opcode::WRITE_TO_STDOUT };
                let mut device = Device::open(shared, port, mask, opcode.number());
                device.send_bytes(|lane| text(lane).into_bytes());
                let answers = device.recv();
                for lane in (0..lanes).filter(|lane| mask >> lane & 1 != 0) {
                    assert_eq!(answers[lane as usize][0], text(lane).len() as u64);
                }
            }
        });
        assert_eq!(end, End::Done);
        let all = |port: u32| -> String {
            (0..lanes)
                .filter(|lane| mask >> lane & 1 != 0)
                .map(|lane| format!("{port}.{lane}:{}\n", "x".repeat(lane as usize * 5)))
                .collect()
        };
        assert_eq!((out, error), (all(0) + &all(2), all(1)), "{lanes} lanes, {mask:#x}");
    }
}

#[test]
fn printf_of_lanes_with_formats_of_their_own() {
    for packed in [false, true] {
        let (end, out, _) = serve((2, 64), "", Allow::default(), |shared| {
            let opcode =
                if packed { Opcode::PRINTF_TO_STDOUT_PACKED } else { Opcode::PRINTF_TO_STDOUT };
            // Lane 0 has two strings, lane 5 one and a null pointer, lane 63 none.
            let mut device = Device::open(shared, 1, 1 | 1 << 5 | 1 << 63, opcode.number());
            device.send_bytes(|lane| match lane {
                0 => b"%c%s+%s\n\0".to_vec(),
                5 => b"%s %s\n\0".to_vec(),
                _ => b"none\n\0".to_vec(),
            });
            let sizes = device.recv();
            let expected = if packed { 20 } else { 24 };
            assert_eq!([sizes[0][0], sizes[5][0], sizes[63][0]], [expected, 16, 0]);
            device.send_bytes(|lane| match lane {
                0 => {
                    let mut bytes = u32::from(b'>').to_le_bytes().to_vec();
                    bytes.resize(expected as usize - 16, 0);
                    bytes.extend([1000u64, 1001].map(u64::to_le_bytes).concat());
                    bytes
                }
                5 => [0u64, 2000].map(u64::to_le_bytes).concat(),
                _ => Vec::new(),
            });
            let mut asked = Vec::new();
            let answers = loop {
                let answers = device.recv();
                let wanted = [answers[0][1], answers[5][1], answers[63][1]];
                if wanted == [0; 3] {
                    break answers;
                }
                asked.push(wanted);
                device.send_bytes(|lane| match answers[lane as usize][1] {
                    0 => Vec::new(),
                    address => format!("<{address}>{}\0", "-".repeat(100)).into_bytes(),
                });
            };
            assert_eq!(asked, [[1000, 2000, 0], [1001, 0, 0]]);
            assert_eq!([answers[0][0], answers[5][0], answers[63][0]], [215, 114, 5]);
        });
        let pad = "-".repeat(100);
        let expected = format!("><1000>{pad}+<1001>{pad}\n(null) <2000>{pad}\nnone\n");
        assert_eq!((end, out), (End::Done, expected), "packed: {packed}");
    }
}

#[test]
fn memory_calls_and_opcodes_of_the_host() {
    let (end, ..) = serve((2, 32), "", Allow::default(), |shared| {
        let mut device = Device::open(shared, 0, 3, Opcode::MALLOC.number());
        device.send(|lane| packet(&[[100, 1 << 50][lane as usize]]));
        let given = device.recv();
        assert_eq!([given[0][0], given[1][0]], [0x1_0000, 0]);
        Device::open(shared, 1, 1, Opcode::NOOP.number()).send(|_| packet(&[]));
        // Opening waits until the host has finished the previous request.
        Device::open(shared, 1, 1, Opcode::FREE.number()).send(|_| packet(&[given[0][0]]));
        for opcode in [Opcode::HOST_CALL.number(), cushim_rpc::layout::OFFLOAD_HOST_CALL] {
            let mut device = Device::open(shared, 1, 0x11, opcode);
            device.send_bytes(|lane| vec![1; 100 * (lane as usize + 1)]);
            device.send(|_| packet(&[FUNCTION]));
            let answers = device.recv();
            assert_eq!([answers[0][0], answers[4][0]], [100, 500]);
        }
        let mut device = Device::open(shared, 1, 4, TWICE);
        device.send(|lane| packet(&[u64::from(lane) + 40]));
        assert_eq!(device.recv()[2][0], 84);
    });
    assert_eq!(end, End::Done);
}

#[test]
fn input_by_bytes_and_by_lines() {
    let (end, ..) = serve((1, 32), "first\nsecond line\nrest", Allow::default(), |shared| {
        let mut device = Device::open(shared, 0, 1, Opcode::READ_FGETS.number());
        device.send(|_| packet(&[100, 1]));
        assert_eq!(device.recv_bytes()[0], b"first\n\0");
        let mut device = Device::open(shared, 0, 1, Opcode::READ_FGETS.number());
        device.send(|_| packet(&[7, 1]));
        assert_eq!(device.recv_bytes()[0], b"second\0");
        for expected in [&b" line\n\0"[..], b"rest\0", b""] {
            let mut device = Device::open(shared, 0, 1, Opcode::READ_FGETS.number());
            device.send(|_| packet(&[100, 1]));
            assert_eq!(device.recv_bytes()[0], expected);
        }
    });
    assert_eq!(end, End::Done);
    let (end, ..) = serve((1, 32), &"0123456789".repeat(20), Allow::default(), |shared| {
        let mut device = Device::open(shared, 0, 5, Opcode::READ_FROM_STREAM.number());
        device.send(|lane| packet(&[[150, 0, 90][lane as usize], 1]));
        let got = device.recv_bytes();
        assert_eq!((got[0].len(), got[2].len()), (150, 50));
        assert_eq!(got[2], "0123456789".repeat(5).as_bytes());
        assert_eq!(device.recv()[2][0], 50);
    });
    assert_eq!(end, End::Done);
}

fn ask(shared: &Shared, opcode: u32, first: u64) -> Device<'_> {
    let mut device = Device::open(shared, 0, 6, opcode);
    device.send(|_| packet(&[first]));
    device
}

#[test]
fn ends_and_faults() {
    let (end, ..) = serve((1, 32), "", Allow::default(), |shared| {
        let mut device = ask(shared, Opcode::EXIT.number(), 0);
        device.recv();
        device.send(|lane| packet(&[(u64::from(lane) + 40) | (7 << 32)]));
    });
    assert_eq!(end, End::Exit(41), "that of the first lane");
    let (end, ..) = serve((1, 32), "", Allow::default(), |shared| {
        let mut device = ask(shared, Opcode::ABORT.number(), 0);
        device.recv();
        device.send(|_| packet(&[]));
    });
    assert_eq!(end, End::Abort);
    for (opcode, first, why) in [
        (0x6300_00ff, 0, "opcode 0x630000ff"),
        (7, 0, "before LLVM 20"),
        (Opcode::WRITE_TO_STDOUT.number(), u64::MAX, "lane 1 announces"),
        (Opcode::FREE.number(), 77, "0x4d, which malloc did not give"),
        (Opcode::FTELL.number(), 0x1000, "no open stream 0x1000"),
        (Opcode::CLOSE_FILE.number(), 0, "no open stream 0x0"),
    ] {
        let (end, ..) = serve((1, 32), "", Allow::default(), |shared| {
            ask(shared, opcode, first);
        });
        let End::Fault(fault) = end else { panic!("{opcode:#x}: {end:?}") };
        assert!(fault.0.contains(why), "{fault}");
    }
    // A kernel that ends in the middle of a message, and one that was not served before it ended.
    let (end, out, _) = serve((2, 32), "", Allow::default(), |shared| {
        ask(shared, Opcode::WRITE_TO_STDOUT.number(), 1000);
        let mut device = Device::open(shared, 1, 1, Opcode::WRITE_TO_STDOUT.number());
        device.send_bytes(|_| b"all of it".to_vec());
    });
    assert_eq!((end, out.as_str()), (End::Done, "all of it"));
}

fn open<'a>(shared: &'a Shared, path: &str) -> Device<'a> {
    let mut device = Device::open(shared, 0, 1, Opcode::OPEN_FILE.number());
    device.send_bytes(|_| format!("{path}\0").into_bytes());
    device.send(|_| packet(&[u64::from(b'w')]));
    device
}

#[test]
fn files_only_where_they_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file").to_str().unwrap().to_owned();
    let (end, ..) = serve((1, 32), "", Allow { system: true, ..Allow::default() }, |shared| {
        open(shared, &path);
    });
    assert!(matches!(&end, End::Fault(fault) if fault.0.contains("--allow files")), "{end:?}");
    assert!(!folder.path().join("file").exists());
    let (end, ..) = serve((1, 32), "", Allow { files: true, system: false }, |shared| {
        let file = open(shared, &path).recv()[0][0];
        assert!(file != 0 && file & 3 == 0);
    });
    assert_eq!(end, End::Done);
    assert!(folder.path().join("file").exists());
}
