//! Perfetto exports, decoded by the protobuf encoding's manual alone. `c-tests/export/check_perfetto.py`
//! decodes them with Perfetto's own schema.

use std::collections::HashMap;

use cushim_trace::event::{Body, Counters, Event, Gpu};
use cushim_trace::layout::{GPU_KERNEL, GpuBody};

use crate::sample::{CALLS, STEP, STREAM, one, program, stdout};

/// A field: its number, and a number or bytes.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; panics if it is none.
fn fields(bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut at = 0;
    let varint = |at: &mut usize| {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = bytes[*at];
            value |= u64::from(byte & 0x7f) << shift;
            (*at, shift) = (*at + 1, shift + 7);
            if byte < 0x80 {
                return value;
            }
        }
    };
    let mut fields = Vec::new();
    while at < bytes.len() {
        let key = varint(&mut at);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut at)),
            1 => {
                at += 8;
                Field::Number(u64::from_le_bytes(bytes[at - 8..at].try_into().unwrap()))
            }
            2 => {
                let size = varint(&mut at) as usize;
                at += size;
                Field::Bytes(&bytes[at - size..at])
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn number(list: &[(u64, Field<'_>)], id: u64) -> Option<u64> {
    list.iter().find_map(|(n, field)| match field {
        Field::Number(value) if *n == id => Some(*value),
        _ => None,
    })
}

fn messages<'a>(list: &[(u64, Field<'a>)], id: u64) -> Vec<&'a [u8]> {
    list.iter()
        .filter_map(|(n, field)| match field {
            Field::Bytes(bytes) if *n == id => Some(*bytes),
            _ => None,
        })
        .collect()
}

fn text(list: &[(u64, Field<'_>)], id: u64) -> Option<String> {
    let bytes = messages(list, id).first().copied()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// A slice or a mark.
#[derive(Debug)]
pub struct Slice {
    pub track: u64,
    pub name: String,
    pub begin: u64,
    pub end: Option<u64>,
    pub is_slice: bool,
    pub flows: (Option<u64>, Option<u64>),
    /// A value of a counter, valid from here on; its name is the track's.
    pub value: Option<u64>,
}

#[derive(Default)]
struct Sequence {
    clock: u64,
    track: u64,
    names: HashMap<u64, String>,
}

/// Tracks by number, and slices in order. Panics if the trace contradicts itself.
pub fn decode(bytes: &[u8]) -> (HashMap<u64, String>, Vec<Slice>) {
    let mut tracks = HashMap::new();
    let mut sequences: HashMap<u64, Sequence> = HashMap::new();
    let (mut slices, mut open) = (Vec::<Slice>::new(), HashMap::<u64, Vec<usize>>::new());
    for (id, packet) in fields(bytes) {
        let Field::Bytes(packet) = packet else { panic!("packet {id}") };
        assert_eq!(id, 1);
        let packet = fields(packet);
        let sequence = sequences.entry(number(&packet, 10).unwrap()).or_default();
        for snapshot in messages(&packet, 6) {
            for clock in messages(&fields(snapshot), 1) {
                let clock = fields(clock);
                if number(&clock, 3) == Some(1) {
                    sequence.clock = number(&clock, 2).unwrap();
                }
            }
        }
        for defaults in messages(&packet, 59) {
            let event = messages(&fields(defaults), 11)[0];
            sequence.track = number(&fields(event), 11).unwrap();
        }
        for track in messages(&packet, 60) {
            let track = fields(track);
            let process = messages(&track, 3).first().and_then(|p| text(&fields(p), 6));
            let thread = messages(&track, 4).first().and_then(|t| text(&fields(t), 5));
            let name = text(&track, 2).or(process).or(thread).unwrap();
            assert!(tracks.insert(number(&track, 1).unwrap(), name).is_none());
        }
        for data in messages(&packet, 12) {
            for name in messages(&fields(data), 2) {
                let name = fields(name);
                sequence.names.insert(number(&name, 1).unwrap(), text(&name, 2).unwrap());
            }
        }
        for event in messages(&packet, 11) {
            let event = fields(event);
            let mut time = number(&packet, 8).unwrap();
            if number(&packet, 58).is_none() {
                sequence.clock += time;
                time = sequence.clock;
            }
            let track = number(&event, 11).unwrap_or(sequence.track);
            assert!(tracks.contains_key(&track));
            let kind = number(&event, 9).unwrap();
            if kind == 2 {
                let slice = open.get_mut(&track).and_then(Vec::pop).unwrap();
                slices[slice].end = Some(time);
                continue;
            }
            if kind == 1 {
                open.entry(track).or_default().push(slices.len());
            }
            let value = number(&event, 30);
            assert_eq!(value.is_some(), kind == 4);
            let of_track = value.map(|_| tracks[&track].clone());
            let name = number(&event, 10).map(|iid| sequence.names[&iid].clone());
            slices.push(Slice {
                track,
                name: of_track.or(name).or(text(&event, 23)).unwrap(),
                begin: time,
                end: None,
                is_slice: kind == 1,
                flows: (number(&event, 47), number(&event, 48)),
                value,
            });
        }
    }
    (tracks, slices)
}

#[test]
fn a_slice_for_each_call_and_a_mark_for_each_piece_of_work() {
    let (folder, _) = one();
    let (tracks, slices) = decode(&stdout(folder.path(), "perfetto", "."));
    let mut names: Vec<&str> = tracks.values().map(String::as_str).collect();
    names.sort_unstable();
    let stream = format!("stream s1 ({STREAM:#x})");
    assert_eq!(names, ["app", "stream s0 of device 1", &stream, "thread 4242", "thread 4243"]);
    let start = 1_700_000_001_000_000_000u64;
    let calls: Vec<&Slice> = slices.iter().filter(|s| s.is_slice).collect();
    assert_eq!(calls.len(), CALLS);
    let steps: Vec<&&Slice> = calls.iter().filter(|s| s.name == STEP.0).collect();
    assert_eq!(steps.len(), 40);
    assert_eq!((steps[0].begin, steps[0].end), (start + 120_000, Some(start + 125_000)));
    assert_eq!((steps[1].begin, steps[1].end), (start + 121_000, Some(start + 124_000)));
    assert_eq!(steps[39].end.unwrap() - steps[39].begin, 3_019);
    let unfinished: Vec<&&Slice> = calls.iter().filter(|s| s.end.is_none()).collect();
    assert!(unfinished.len() == 1 && unfinished[0].name == "cudaDeviceSynchronize");
    // 22 outermost calls put work on a stream. An allocation that waits for the default stream has no
    // stream itself. The flow leads from the call to the mark.
    let marks: Vec<&Slice> = slices.iter().filter(|s| s.flows.1.is_some()).collect();
    assert_eq!(marks.len(), 22);
    for mark in marks {
        let call = slices.iter().find(|s| s.flows.0 == mark.flows.1).unwrap();
        assert_eq!((call.begin, &call.name), (mark.begin, &mark.name));
        assert!(tracks[&mark.track].starts_with("stream "));
    }
    assert!(slices.iter().any(|s| !s.is_slice && s.name.starts_with("epoch 2")));
}

#[test]
fn processes_of_one_number_on_two_hosts_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    program(4242, Some(0)).write(&folder.path().join("a.cushim")).unwrap();
    program(4242, Some(1)).write(&folder.path().join("b.cushim")).unwrap();
    let (tracks, slices) = decode(&stdout(folder.path(), "perfetto", "."));
    let mut names: Vec<&str> = tracks.values().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names[..2], ["rank 0 app", "rank 1 app"]);
    assert_eq!(slices.iter().filter(|s| s.is_slice).count(), 2 * CALLS);
}

/// A counter has its value while the work runs, for each stream of a GPU; a counter without a visible
/// track makes none.
#[test]
fn counters_have_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = program(4242, None);
    file.counters(1, "global_load_sectors barriers global_store_sectors dram_read_sectors");
    file.counters(2, "barriers");
    let work =
        [(1, 7, 1_000, [3u64, 100, 5, 2]), (2, 7, 2_000, [9; 4]), (1, 8, 1_500, [1, 0, 0, 0])];
    for (names, stream, begin_ns, values) in work {
        let size = if names == 1 { 32 } else { 8 };
        let bytes: Vec<u8> = values.into_iter().flat_map(u64::to_le_bytes).collect();
        let stored = GpuBody { what: GPU_KERNEL, kernel: 2, stream, ..GpuBody::default() };
        let counters = Counters { names, bytes: &bytes[..size] };
        file.event(&Event {
            id: 0,
            parent: None,
            tid: 5,
            api: 0,
            depth: 0,
            begin_ns,
            call_ns: Some(400),
            status: None,
            link: 0,
            body: Body::Gpu(Gpu { stored, counters }),
        });
    }
    file.write(&folder.path().join("a.cushim")).unwrap();
    let (tracks, slices) = decode(&stdout(folder.path(), "perfetto", "."));
    let mut found: Vec<(String, u64, u64)> = slices
        .iter()
        .filter_map(|s| Some((tracks[&s.track].clone(), s.begin % 100_000, s.value?)))
        .collect();
    found.sort();
    let of = |stream: u32, what: &str, begin: u64, value: u64| {
        let name = format!("GPU 0 stream {stream}: {what}");
        [(name.clone(), begin, value), (name, begin + 400, 0)]
    };
    let [sectors, bytes] = ["sectors of global memory", "bytes of device memory (model)"];
    let mut expected = [
        of(7, sectors, 1_000, 8),
        of(7, bytes, 1_000, 64),
        of(8, sectors, 1_500, 1),
        of(8, bytes, 1_500, 0),
    ]
    .concat();
    expected.sort();
    assert_eq!(found, expected);
}
