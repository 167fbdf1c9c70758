"""Tests of the harness itself: what it accepts, and that it reports differences.

    python3 -m unittest discover -s c-tests/harness
"""

import json
import os
import stat
import tempfile
import threading
import unittest

import build
import eventpairs
import gputime
import launches
import programs
import runs


def launch(kernel, grid, block, args, status=0, shared=0, **more):
    """A launch event as in a trace."""
    listed = None if args is None else [{"offset": 0, "size": 8, "hex": "", "type": "t", "value": v} for v in args]
    event = {"event": "launch", "api": "cudaLaunchKernel", "kernel": kernel, "grid": grid, "block": block,
             "shared": shared, "args": listed, "status": status, "parent": None}
    event.update(more)
    return event


class Identity(unittest.TestCase):
    """Two threads of gpu/identity.cu, each with a launch and a graph of its own."""

    def lines(self):
        lines = []
        for thread in (0, 1):
            of = {"pid": 5, "tid": 50 + thread, "mangled": "k"}
            shape = dict(of, grid=[9, 1, 1], block=[1, 1 + thread, 1], shared=0)
            lines.append(dict(shape, event="launch", api="cudaLaunchKernel", link=1 + thread))
            lines.append(dict(of, event="graph", api="cudaGraphLaunch", link=11 + thread))
            lines.append(dict(shape, event="gpu", what="kernel", link=1 + thread, t_ns=5))
            for node in range(8):
                lines.append(dict(shape, event="gpu", what="kernel", link=11 + thread, t_ns=node, grid=[1 + node, 1, 1]))
        return lines

    def judge(self, lines):
        return gputime.judge_identity(lines, 2, 1, 1)[1]

    def test_all_where_it_belongs(self):
        self.assertEqual(self.judge(self.lines()), [])

    def test_what_is_wrong(self):
        kernels = [i for i, line in enumerate(self.lines()) if line["event"] == "gpu"]
        for a, b in ((kernels[0], kernels[9]), (kernels[1], kernels[10])):
            lines = self.lines()
            lines[a]["link"], lines[b]["link"] = lines[b]["link"], lines[a]["link"]
            self.assertEqual(len(self.judge(lines)), 2, lines)
        for gone in kernels:
            self.assertNotEqual(self.judge(self.lines()[:gone] + self.lines()[gone + 1:]), [])
        lines = self.lines()
        lines[kernels[0]]["link"] = 99
        self.assertNotEqual(self.judge(lines), [])
        lines = self.lines()
        lines[kernels[0]]["mangled"] = "other"
        self.assertNotEqual(self.judge(lines), [])


class GpuTime(unittest.TestCase):
    def lines(self, **more):
        shape = {"grid": [2, 1, 1], "block": [32, 1, 1], "mangled": "_Z1kv", "pid": 5, "link": 7}
        call = dict(shape, event="launch", api="cudaLaunchKernel", status=0, t_ns=1_000_000)
        work = dict(shape, event="gpu", what="kernel", t_ns=1_004_000, gpu_ns=3000)
        work.update(more)
        return [call, work, {"event": "summary", "notes": []}]

    def test_a_kernel_for_each_launch(self):
        what, wrong = gputime.judge(self.lines())
        self.assertEqual((what, wrong), ("1 launches, 0 of graphs: 1 kernels, 0 copies and sets on the GPU", []))

    def test_what_is_wrong(self):
        for more, says in (
            ({"link": 8}, "no recorded call"),
            ({"gpu_ns": 0}, "took 0 ns"),
            ({"t_ns": 900_000}, "before its call"),
            ({"grid": [3, 1, 1]}, "another shape"),
            ({"mangled": "_Z1jv"}, "have no kernel"),
        ):
            _, wrong = gputime.judge(self.lines(**more))
            self.assertTrue(any(says in text for text in wrong), (more, wrong))

    def test_graphs_without_work_are_counted(self):
        graph = {"event": "graph", "api": "cuGraphLaunch", "status": 0, "t_ns": 1, "pid": 1, "link": 9}
        lines = [graph] + self.lines()
        self.assertEqual(gputime.judge(lines, 1)[1], [])
        self.assertTrue(any("1 graph launches" in text for text in gputime.judge(lines)[1]))
        self.assertTrue(any("expected 1" in text for text in gputime.judge(lines[1:], 1)[1]))

    def test_no_cupti(self):
        lines = [{"event": "summary", "notes": ["--gpu-time: no libcupti; no GPU times are recorded"]}]
        self.assertIsNone(gputime.judge(lines)[0])


class EventPairs(unittest.TestCase):
    NOTES = ["GPU times are those between two events around each launch: …",
             "--gpu-time: timing 1 launches by event pairs cost the host 900 ns each"]

    def judged(self, add=(), seen=((11, "_Z1kv", 50_000, 53_000),), notes=NOTES, **more):
        """Of one launch by thread 11, whose kernel CUPTI saw from 50 to 53 us; `more` of the event pair's line."""
        shape = {"grid": [2, 1, 1], "block": [32, 1, 1], "mangled": "_Z1kv", "pid": 5, "link": 7}
        call = dict(shape, event="launch", api="cudaLaunchKernel", status=0, t_ns=1_000_000, tid=11)
        work = dict(shape, event="gpu", what="kernel", t_ns=1_004_000, gpu_ns=5000)
        work.update(more)
        kernels = [{"tid": tid, "mangled": name, "start": start, "end": end} for tid, name, start, end in seen]
        return eventpairs.judge([call, work] + list(add) + [{"event": "summary", "notes": list(notes)}], {5: kernels})

    def test_a_time_contains_its_kernel(self):
        self.assertEqual(self.judged(), ("1 of 1 launches by events, 1 of them +2000 to +2000 ns beside CUPTI, "
                                         "+2000 in the middle, the host 900 ns each", []))
        self.assertEqual(self.judged(gpu_ns=2500)[1], [])
        self.assertIn("1900 ns by events and 3000 ns by CUPTI", self.judged(gpu_ns=1900)[1][0])
        self.assertEqual(self.judged(gpu_ns=102_000)[1], [])
        self.assertIn("idle for 101000 ns", self.judged(gpu_ns=104_000)[1][0])
        # Nothing is known of a captured launch, nor of other processes.
        for seen in (((11, "_Z1kv", 0, 0),), ()):
            what, wrong = self.judged(seen=seen, gpu_ns=104_000)
            self.assertEqual(wrong == [], seen != ())
        # A long kernel may wait longer.
        long = ((11, "_Z1kv", 50_000, 2_050_000),)
        self.assertEqual(self.judged(seen=long, gpu_ns=2_600_000)[1], [])
        self.assertIn("idle", self.judged(seen=long, gpu_ns=2_700_000)[1][0])

    def test_a_kernel_may_wait_for_others(self):
        own = (11, "_Z1kv", 500_000, 503_000)
        for others, idle in (
            ([(0, "-", 100_000, 450_000)], None),
            ([(0, "-", 300_000, 450_000), (0, "-", 250_000, 350_000), (0, "-", 0, 240_000)], None),
            ([(0, "-", 300_000, 450_000)], 247_000),
            ([(0, "-", 503_000, 900_000)], 397_000),
        ):
            _, wrong = self.judged(seen=[own] + others, gpu_ns=400_000)
            self.assertEqual(wrong == [], idle is None, (others, wrong))
            self.assertTrue(idle is None or "idle for %d ns" % idle in wrong[0], wrong)

    def test_what_is_wrong(self):
        second = {"event": "gpu", "what": "kernel", "mangled": "_Z1kv", "pid": 5, "link": 7}
        for add, more, says in (
            ((), {"gpu_ns": -1}, "-1 ns"),
            ((), {"t_ns": 998_000}, "-2000 ns after its call"),
            ((), {"link": 8}, "no launch's"),
            ((), {"grid": [3, 1, 1]}, "has the time of"),
            ((), {"event": "mark"}, "neither a time"),
            ((second,), {}, "a second one"),
            ((), {"seen": ((11, "_Z1jv", 50_000, 53_000),)}, "or others"),
            ((), {"seen": ((12, "_Z1kv", 50_000, 53_000),)}, "or others"),
        ):
            self.assertTrue(any(says in text for text in self.judged(add, **more)[1]), (more, self.judged(add, **more)))
        told = self.NOTES + ["--gpu-time: 1 launches have no GPU time: the first of a context …"]
        self.assertEqual(self.judged(event="mark", notes=told)[1], [])
        self.assertIsNone(self.judged(notes=())[0])


class Timed(unittest.TestCase):
    """The whole way of a program that is timed, with another cushim and another CUPTI."""
    program, options = "cushim", {}

    def trace(self, command, env=None, options=(), backend=None):
        folder = tempfile.mkdtemp()
        lines = self.lines if "--gpu-time=cupti" in options else self.pairs
        with open(os.path.join(folder, "trace.jsonl"), "w") as file:
            file.write("\n".join(json.dumps(line) for line in lines))
        if env and "CUPTI_KERNELS_FILE" in env:
            with open(env["CUPTI_KERNELS_FILE"] + ".5", "w") as file:
                file.write(json.dumps({"tid": 11, "mangled": "_Z1kv", "start": 1_000, "end": 9_000}) + "\n")
        return runs.run(command), os.path.join(folder, "trace.jsonl")

    def test_both_ways(self):
        shape = {"grid": [2, 1, 1], "block": [32, 1, 1], "mangled": "_Z1kv", "pid": 5, "link": 7}
        call = dict(shape, event="launch", api="cudaLaunchKernel", status=0, t_ns=1_000_000, tid=11)
        work = dict(shape, event="gpu", what="kernel", t_ns=1_004_000, gpu_ns=8_500)
        self.lines = [call, work, {"event": "summary", "notes": []}]
        self.pairs = self.lines[:2] + [{"event": "summary", "notes": EventPairs.NOTES}]
        alone = runs.run(["true"])
        results = gputime.check(self, self, "true", None, alone) + eventpairs.check(self, "client.so", "true", alone)
        self.assertEqual([wrong for _, wrong in results], [[], []])
        self.assertIn("+500 ns beside CUPTI", results[1][0])
        work["gpu_ns"] = 5_000
        results = eventpairs.check(self, "client.so", "true", runs.run(["false"]))
        self.assertEqual(results[0][1], ["_Z1kv takes 5000 ns by events and 8000 ns by CUPTI", "exit status 1 alone, 0 traced"])


class Names(unittest.TestCase):
    def test_namespaces_and_casts_go(self):
        for name, base in (
            ("physics::step<float, 4>", "step<float,4>"),
            ("physics::step<float, (int)4>", "step<float,4>"),
            ("(anonymous namespace)::hidden", "hidden"),
            ("<unnamed>::hidden", "hidden"),
            ("_INTERNAL_0a1b_8_units_cu::fill", "fill"),
            ("for_each<main::{lambda(int)#1}>", "for_each<main::{lambda(int)#1}>"),
            (None, "-"),
        ):
            self.assertEqual(launches.base_name(name), base)

    def test_any_template_argument(self):
        event = {"kernel": "for_each<main::{lambda(int)#1}>"}
        self.assertTrue(launches.same_name("for_each<~>", event))
        self.assertFalse(launches.same_name("for_each<~>", {"kernel": "for_each"}))


class Values(unittest.TestCase):
    def test_values(self):
        for token, value, same in (
            ("*", None, True), ("0.5", 0.5, True), ("0.5", "0.5", True), ("0.01", 0.009999999776482582, True),
            ("true", True, True), ("true", 1, True), ("40", "0x28", True), ("-7", -7, True), ("3", 4, False),
            ("3", None, False), ("3", "abc", False),
        ):
            self.assertEqual(launches.same_value(token, value), same, (token, value))


class Comparison(unittest.TestCase):
    def expected(self, *text):
        return [launches.Expected(line) for line in text]

    def test_agreement(self):
        expected = self.expected("2 k 4,1,1 256,1,1 0 * 7", "1 @GraphLaunch", "1 k 1,1,1 9999,1,1 0 * 7 !")
        events = [launch("k", [4, 1, 1], [256, 1, 1], ["0x1", 7])] * 2
        events.append(launch("k", [1], [9999], ["0x1", 7], status=9))
        events.append({"event": "graph", "api": "cudaGraphLaunch", "status": 0})
        events.append(launch("k", [4, 1, 1], [256, 1, 1], ["0x1", 7], parent=3))
        self.assertEqual(launches.compare(expected, events), [])

    def test_what_is_wrong_is_noticed(self):
        expected = self.expected("1 k 4,1,1 256,1,1 0 * 7")
        right = launch("k", [4, 1, 1], [256, 1, 1], ["0x1", 7])
        self.assertEqual(launches.compare(expected, [right]), [])
        for change in (
            {"kernel": "other"}, {"grid": [4, 2, 1]}, {"block": [255, 1, 1]}, {"shared": 16}, {"status": 1},
            {"args": None}, {"args": right["args"][:1]}, {"args": [right["args"][0], {"value": 8}]},
        ):
            wrong = launches.compare(expected, [dict(right, **change)])
            self.assertEqual(len(wrong), 2, (change, wrong))
        self.assertEqual(len(launches.compare(expected, [right, right])), 1)
        self.assertEqual(len(launches.compare(expected, [])), 1)
        self.assertEqual(launches.compare(expected, [], complete=False), [])

    def test_only_with_the_runtime(self):
        expected = self.expected("?1 k 1,1,1 2048,1,1 0 * !")
        self.assertEqual(len(launches.compare(expected, [], runtime_seen=True)), 1)
        self.assertEqual(launches.compare(expected, [], runtime_seen=False), [])

    def test_counts(self):
        events = [launch("k", [1], [1], [], mangled="_Z1kv")] * 3 + [
            {"event": "graph", "api": "cuGraphLaunch_ptsz", "status": 0},
            launch("k", [1], [1], [], mangled="_Z1kv", status=9),
        ]
        kernels, graphs = launches.count_by_name(events)
        self.assertEqual(launches.compare_counts(kernels, graphs, {"kernels": {"_Z1kv": 3}, "graphs": 1}), [])
        self.assertEqual(len(launches.compare_counts(kernels, graphs, {"kernels": {"_Z1kv": 2, "x": 1}, "graphs": 0})), 3)


class Expected(unittest.TestCase):
    def test_majors(self):
        with tempfile.NamedTemporaryFile("w", suffix=".expected") as file:
            file.write("one\n[<13] old\n[>=13] ~new \\d\nlast\n")
            file.flush()
            for out, major, right in (
                (b"one\nold\nlast\n", 11, True), (b"one\nold\nlast\n", 12, True), (b"one\nnew 1\nlast\n", 13, True),
                (b"one\nold\nlast\n", 13, False), (b"one\nnew 1\nlast\n", 12, False), (b"one\nlast\n", 12, False),
                (b"one\nnew 1\nlast\nmore\n", 14, False),
            ):
                wrong = runs.unlike_expected(file.name, out, major)
                self.assertEqual(not wrong, right, (out, major, wrong))


class Table(unittest.TestCase):
    def test_every_program_has_its_files(self):
        for program in programs.programs():
            if program.options.get("launches") != "any":
                listed = launches.read_list(program.beside("launches"), 13)
                self.assertTrue(listed or "cupti" in program.options, program.name)
            for file in [program.beside("expected")] + [os.path.join(programs.CUDA, s) for s in program.sources]:
                self.assertTrue(os.path.exists(file), file)

    def test_what_is_known_to_fail_exists_and_has_a_reason(self):
        names = {p.name for p in programs.programs()}
        for name, known in programs.known_on_cpu().items():
            self.assertIn(name, names)
            self.assertTrue(known.why and 0 < known.status < 128, name)

    def test_another_failure_is_not_the_known_one(self):
        known = programs.Known(1, "not supported", "why")
        self.assertIsNone(known.unlike(1, b"x\ny: not supported\n"))
        # A signal, a hang, success, and another message.
        for status, said in ((-11, b"not supported"), (None, b"not supported"), (0, b"not supported"), (1, b"no")):
            self.assertTrue(known.unlike(status, said), (status, said))
        with tempfile.NamedTemporaryFile("w", suffix="KNOWN") as file:
            file.write("vecadd a reason alone\n")
            file.flush()
            self.assertRaises(SystemExit, programs.known_on_cpu, file.name)

    def test_the_architecture_is_the_later_one_and_that_of_one_device_alone(self):
        program = programs.programs(["tensor_wgmma"])[0]
        self.assertEqual(program.options["arch"], "sm_90a")
        nvcc = build.Nvcc.__new__(build.Nvcc)
        for asked, used in (("sm_75", "sm_90a"), ("sm_90", "sm_90a"), ("sm_90a", "sm_90a"), ("sm_120", "sm_120")):
            nvcc.arch = asked
            self.assertEqual(nvcc.arch_for(program), used)

    def test_lists_hold_for_majors(self):
        self.assertEqual([programs.major(t) for t in ("11.8", "12.4", "clang", "13.5")], [11, 12, 12, 13])
        textures = programs.programs(["textures"])[0].beside("launches")
        names = [[line.kernel for line in launches.read_list(textures, major)] for major in (11, 13)]
        self.assertEqual(set(names[0]) - set(names[1]), {"referred"})
        self.assertEqual(len(names[0]), len(names[1]) + 1)

    def test_sets(self):
        vecadd = programs.programs(["vecadd"])[0]
        self.assertEqual(len(programs.variants("gpu", vecadd)), 8)
        self.assertEqual(len(programs.variants("full", vecadd)), 24)
        separate = programs.programs(["separate"])[0]
        self.assertEqual({v.link for v in programs.variants("matrix", separate)}, {"rdc"})
        # A sample of the matrix: each choice that a compiler can make appears.
        every = [str(v).split("-") for v in programs.variants("full", vecadd)]
        for older, without in ((None, set()), (0, {"zstd"}), (1, {"zstd"})):
            # Older compilers make one variant of each program, all of them together all three.
            named = [vecadd] if older is None else programs.programs(["vecadd", "arguments", "units"])
            few = [str(v).split("-") for p in named for v in programs.variants("core", p, older)]
            self.assertEqual(len(few), 3)
            for axis in range(4):
                self.assertEqual({v[axis] for v in few} - without, {v[axis] for v in every} - without)
            self.assertEqual({v.link for v in programs.variants("core", separate, older)}, {"rdc"})
            self.assertEqual(len(programs.variants("core", separate, older)), 3 if older is None else 1)
        pair = [str(v) for v in programs.variants("pair", programs.programs(["streams"])[0])]
        for program in programs.programs():
            if program.kind or "matrix" in program.options:
                continue
            # Of the others each older compiler makes one of the newest's variants, and two neighbours both.
            turns = [list(map(str, programs.variants("core", program, older))) for older in (0, 1)]
            newest = list(map(str, programs.variants("core", program)))
            self.assertEqual(newest, pair, program.name)
            self.assertEqual(sorted(turns), sorted([v] for v in newest), program.name)
        # All of it is in the matrix.
        for program in programs.programs():
            for older in (None, 0, 1, 2):
                core = set(map(str, programs.variants("core", program, older)))
                self.assertLessEqual(core, set(map(str, programs.variants("matrix", program))), program.name)
        for program in programs.programs():
            if "heavy" not in program.options:
                self.assertNotEqual(programs.variants("core", program), [], program.name)
        for heavy in (p for p in programs.programs() if "heavy" in p.options):
            self.assertEqual(programs.variants("matrix", heavy), [], heavy.name)
            self.assertEqual(programs.variants("pair", heavy), [], heavy.name)
            self.assertNotEqual(programs.variants("both", heavy), [], heavy.name)


FAKE = """#!/usr/bin/env python3
import json, subprocess, sys
at = sys.argv.index("--")
done = subprocess.run(sys.argv[at + 1:])
events = %s
with open(sys.argv[sys.argv.index("-o") + 1], "w") as out:
    for value in [{"event": "header"}] + events + [{"event": "summary"}]:
        out.write(json.dumps(value) + "\\n")
sys.exit(done.returncode%s)
"""


class Places(unittest.TestCase):
    def test_threads_take_turns_and_what_they_run_sees_it(self):
        begun = threading.Barrier(2, timeout=60)
        seen = []

        def look():
            begun.wait()
            seen.append(runs.run(["/bin/sh", "-c", "echo $PLACE"]).out)
            return []

        tally = runs.Tally()
        runs.check_all(tally, [runs.Task("a", look), runs.Task("b", look)], 2, [{"PLACE": "0"}, {"PLACE": "1"}])
        self.assertEqual(sorted(seen), [b"0\n", b"1\n"])
        self.assertEqual(runs.run(["/bin/sh", "-c", "echo $PLACE"]).out, b"\n")

    def test_a_task_has_variables_of_its_own(self):
        seen = []

        def look():
            seen.append(runs.run(["/bin/sh", "-c", "echo $PLACE $OWN"]).out)
            return []

        own = [runs.Task("a", look, {"OWN": "a"}), runs.Task("b", look), runs.Task("c", look, {"PLACE": "c"})]
        runs.check_all(runs.Tally(), own, 1, [{"PLACE": "0"}])
        self.assertEqual(seen, [b"0 a\n", b"0\n", b"c\n"])


class WholeRun(unittest.TestCase):
    """Replaces cushim and a program, so that the test runs the whole harness."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program = self.executable("vecadd", "#!/bin/sh\necho 'sum: ok'\n")
        self.vecadd = programs.programs(["vecadd"])[0]

    def tearDown(self):
        self.folder.cleanup()

    def executable(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def check(self, events, status=""):
        self.executable("cushim", FAKE % (json.dumps(events).replace("null", "None"), status))
        cushim = runs.Cushim(self.folder.name)
        variant = programs.Variant("shared", "legacy", "whole", "default")
        return runs.check_program(cushim, self.vecadd, variant, self.program, gpu=True)

    def test_right(self):
        results = self.check([launch("vecadd", [4, 1, 1], [256, 1, 1], ["a", "b", "c", 1000])])
        self.assertEqual([what for what, _ in results], ["alone", "traced", "launches"])
        self.assertEqual([wrong for _, wrong in results], [[], [], []])

    def test_a_hanging_program_ends(self):
        hanging = self.executable("hanging", "#!/bin/sh\necho begun\nsleep 600 &\nsleep 600\n")
        outcome = runs.run([hanging], limit=1)
        self.assertEqual((outcome.status, outcome.out), (None, b"begun\n"))

    def test_wrong(self):
        results = dict(self.check([], " + 1"))
        self.assertEqual(results["alone"], [])
        self.assertTrue(results["traced"] and results["launches"])


if __name__ == "__main__":
    unittest.main()
