"""Decodes a Perfetto export with Perfetto's own schema and compares it with the JSON lines.

    python c-tests/export/check_perfetto.py EXPORT.pftrace LINES.jsonl

Needs the package `perfetto` (PyPI) for `perfetto_trace_pb2`. What trace_processor does with packets is
done here by the manual ("TrackEvent", "Clock synchronization", "Interning"): clocks and numbered texts
belong to a sequence, slices nest on their track, flows join slices.
"""

import json
import sys
from collections import Counter

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def packets(data):
    """One packet at a time: a `Trace` is a list of them."""
    at = 0
    while at < len(data):
        assert data[at] == 0x0A, f"byte {at} begins no packet"
        size = shift = 0
        at += 1
        while True:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        packet = pb.TracePacket()
        assert packet.ParseFromString(data[at:at + size]) == size
        yield packet
        at += size


class Sequence:
    def __init__(self):
        self.clock = None
        self.track = None
        self.default_clock = None
        self.texts = {}


def value(annotation):
    kind = annotation.WhichOneof("value")
    if kind is None and annotation.array_values:
        return [value(v) for v in annotation.array_values]
    return getattr(annotation, kind) if kind else None


def decode(path):
    data = open(path, "rb").read()
    sequences, tracks, stacks, levels = {}, {}, {}, {}
    slices, instants, primary = [], [], None
    for packet in packets(data):
        sequence = sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        if packet.sequence_flags & 1:
            sequence.__init__()
        for clock in packet.clock_snapshot.clocks:
            if clock.is_incremental:
                assert 64 <= clock.clock_id < 128
                sequence.clock = clock.timestamp
        primary = packet.clock_snapshot.primary_trace_clock or primary
        if packet.HasField("trace_packet_defaults"):
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
            sequence.default_clock = packet.trace_packet_defaults.timestamp_clock_id
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks, f"track {track.uuid} twice"
            assert not track.parent_uuid or track.parent_uuid in tracks
            tracks[track.uuid] = track
        for field in ("event_categories", "event_names", "debug_annotation_names"):
            for entry in getattr(packet.interned_data, field):
                sequence.texts[field, entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_string_values:
            sequence.texts["texts", entry.iid] = entry.str.decode()
        if not packet.HasField("track_event"):
            continue
        assert packet.sequence_flags == 2, "a packet that needs the sequence's state must say so"
        clock = packet.timestamp_clock_id or sequence.default_clock
        if clock >= 64:
            sequence.clock += packet.timestamp
            time = sequence.clock
        else:
            assert clock == 1
            time = packet.timestamp
        event = packet.track_event
        track = event.track_uuid or sequence.track
        assert track in tracks, f"no track {track}"
        if event.type == END:
            one = stacks[track].pop()
            one["dur"] = time - one["ts"]
            assert one["dur"] >= 0
            continue
        assert (event.type == COUNTER) == tracks[track].HasField("counter")
        if event.type == COUNTER:
            # A counter has a level while work runs, and none after it.
            level = levels.setdefault(track, [])
            assert level and level[-1][0] <= time or not level, f"track {track} goes back"
            assert len(level) % 2 == 0 or event.counter_value == 0
            level.append((time, event.counter_value))
            continue
        notes = {}
        for note in event.debug_annotations:
            name = sequence.texts["debug_annotation_names", note.name_iid]
            assert name not in notes, f"{name} twice"
            notes[name] = (sequence.texts["texts", note.string_value_iid]
                           if note.HasField("string_value_iid") else value(note))
        one = {
            "track": track, "ts": time, "dur": None, "notes": notes,
            "name": event.name if event.HasField("name") else sequence.texts["event_names", event.name_iid],
            "category": [sequence.texts["event_categories", iid] for iid in event.category_iids],
            "flows": list(event.flow_ids), "ends": list(event.terminating_flow_ids),
        }
        if event.type == BEGIN:
            stack = stacks.setdefault(track, [])
            if stack:
                assert stack[-1]["ts"] <= one["ts"]
            one["depth"] = len(stack)
            stack.append(one)
            slices.append(one)
        else:
            assert event.type == INSTANT
            instants.append(one)
    assert primary == 1, "times are those of the real-time clock"
    return tracks, slices, instants


def compare(tracks, slices, instants, lines):
    counts = Counter()
    threads = {}
    for uuid, track in tracks.items():
        if track.HasField("thread"):
            assert tracks[track.parent_uuid].process.pid == track.thread.pid
            threads[uuid] = (track.thread.pid, track.thread.tid)
    by_id = {}
    for one in slices:
        # The upper part of the process track's number is the file's number.
        source = (tracks[one["track"]].parent_uuid >> 32) - 1
        by_id[source << 40 | one["notes"]["id"]] = one
    ends = {flow: one for one in instants for flow in one["ends"]}
    for line in lines:
        if "id" not in line or line["event"] == "mark":
            counts["marks"] += line["event"] == "mark"
            continue
        one = by_id.pop(line["id"])
        counts["slices"] += 1
        assert one["category"] == [line["event"]], line
        assert one["ts"] == line["t_ns"], (one, line)
        notes = one["notes"]
        launch = line["grid"] is not None
        assert one["name"] == (line["kernel"] if launch else line["api"]), (one["name"], line)
        assert threads[one["track"]][1] % (1 << 22) == line["tid"]
        if line["call_ns"] is None:
            counts["never came back"] += 1
            assert notes["returned"] is False
        else:
            # Clocks are rounded: no end may come after that of the enclosing call.
            assert line["call_ns"] - 2 <= one["dur"] <= line["call_ns"], (one["dur"], line)
            counts["durations one or two ns short"] += one["dur"] != line["call_ns"]
        if launch:
            counts["launches"] += 1
            assert notes["grid"] == line["grid"] and notes["block"] == line["block"], line
            assert notes.get("shared", 0) == line["shared"]
            assert notes["api"] == line["api"] and notes.get("stream") == line["stream"]
            assert notes["declaration"] == line["demangled"]
            if line["args"]:
                assert len(notes["args"]) == len(line["args"])
                for mine, theirs in zip(notes["args"], line["args"]):
                    counts["arguments"] += 1
                    theirs = theirs["value"]
                    if isinstance(theirs, str) and theirs.startswith("0x"):
                        assert mine == int(theirs, 16), line
                    elif isinstance(theirs, float):
                        assert abs(mine - theirs) <= 1e-6 * abs(theirs), line
                    elif theirs is not None and not isinstance(theirs, list):
                        assert mine == theirs, line
        if line["status"]:
            counts["with a status"] += 1
            assert notes["status"] in (line["status_name"], line["status"]), line
        for flow in one["flows"]:
            counts["flows"] += 1
            mark = ends.pop(flow)
            assert mark["ts"] == one["ts"] and mark["name"] == one["name"]
            assert tracks[mark["track"]].name.startswith("stream " + line["stream"]), line
    assert not by_id and not ends, "slices or flows that no line knows"
    counts["tracks"] = len(tracks)
    return counts


def main():
    trace, lines = sys.argv[1:3]
    with open(lines) as file:
        counts = compare(*decode(trace), (json.loads(line) for line in file))
    print(", ".join(f"{n} {what}" for what, n in counts.items() if n))


if __name__ == "__main__":
    main()
