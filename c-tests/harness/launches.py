"""Reads traces and lists of expected launches, and compares them.

A trace is the JSON lines of `cushim trace -o FILE.jsonl`. A list (NAME.launches)
has one line per kernel, shape and arguments:

    [?|~]COUNT KERNEL GRID BLOCK SHARED [ARG…] [!STATUS]
    COUNT @GraphLaunch

A line that begins with `[<12] ` or `[>=12] ` holds for some majors of the toolkit only. `?`: seen only where the runtime itself is seen. `~`: may be missing. KERNEL is the short name without
namespaces; `<~>` stands for template arguments of any spelling, `-` for none known.
ARG `*` stands for any value. `!` alone is any failure. Knows nothing of processes.
"""

import collections
import json
import re


# A line that holds for some majors of the toolkit only: `[<13] text`, `[>=13] text`.
MARK = re.compile(r"\[(<|>=)(\d+)\] ")


def for_major(text, major):
    """(mark, line without it) for a line that may begin with a mark; None if it does not apply to this major."""
    mark = MARK.match(text)
    if mark is None:
        return "", text
    holds = (major < int(mark[2])) == (mark[1] == "<")
    return (mark[0], text[mark.end():]) if holds else None


class Expected:
    """One line of a list."""

    def __init__(self, line):
        words = line.split()
        self.text = " ".join(words)
        self.runtime_only = words[0].startswith("?")
        self.optional = words[0].startswith("~")
        self.count = int(words[0].lstrip("?~"))
        self.kernel = words[1]
        self.graph = self.kernel[1:] if self.kernel.startswith("@") else None
        self.status = None
        if words[-1].startswith("!"):
            self.status = words.pop()[1:] or "any"
        if not self.graph:
            self.grid, self.block = (tuple(int(n) for n in w.split(",")) for w in words[2:4])
            self.shared = int(words[4])
            self.args = words[5:]


def read_list(path, major):
    """The lines of a NAME.launches file for a major of the toolkit."""
    with open(path) as lines:
        held = [for_major(line, major) for line in lines if line.strip() and not line.startswith("#")]
    return [Expected(line[1]) for line in held if line]


def read_trace(path):
    """(header, events, summary) of a trace; ValueError describes a fault in it."""
    header, events, summary = None, [], None
    with open(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                value = json.loads(line)
            except ValueError as error:
                raise ValueError("line %d of the trace is no JSON: %s" % (number, error))
            kind = value.get("event")
            if kind == "header" or (number == 1 and kind is None):
                header = value
            elif kind == "summary" or kind is None:
                summary = value
            else:
                events.append(value)
    if header is None:
        raise ValueError("the trace has no header line")
    if summary is None:
        raise ValueError("the trace has no summary line")
    return header, events, summary


def triple(value):
    """A grid or block of a trace: a list, or an object with x, y, z."""
    if isinstance(value, dict):
        value = [value.get(axis, 1) for axis in "xyz"]
    value = list(value or [])
    return tuple(value + [1] * (3 - len(value)))


def base_name(name):
    """A kernel's name without blanks, casts in template arguments, and namespaces."""
    name = re.sub(r"(?<=[<, ])\((?:unsigned |signed )?(?:int|long|char|bool|short)\)", "", name or "-")
    name = name.replace(" ", "")
    depth, start = 0, 0
    for i, c in enumerate(name):
        if c in "<({":
            # `<unnamed>::` and `(anonymousnamespace)::` begin a name's component, not a list.
            depth += 1
        elif c in ">)}":
            depth -= 1
        elif depth == 0 and name.startswith("::", i):
            start = i + 2
    return name[start:]


def same_name(expected, event):
    """Whether a launch is of the kernel in the list's line."""
    name = base_name(event.get("kernel"))
    if expected == "-":
        # An unregistered kernel has an address at most.
        return name == "-" or name.startswith("unknown")
    if expected.endswith("<~>"):
        return name.split("<")[0] == expected[: -len("<~>")] and "<" in name
    return name == expected


def same_value(token, value):
    """Whether an argument has the value that the list gives."""
    if token == "*":
        return True
    if isinstance(value, bool):
        value = "true" if value else "false"
    if str(value) == token:
        return True
    words = {"true": "1", "false": "0"}
    try:
        want, have = float(words.get(token, token)), float(int(str(value), 0) if str(value)[:2] == "0x" else
                                                           words.get(str(value), value))
    except (TypeError, ValueError):
        return False
    return abs(want - have) <= 1e-6 * abs(want)


def describe(event):
    """A launch in the format of the list."""
    if event.get("event") != "launch":
        return "%s = %s" % (event.get("api"), event.get("status"))
    args = event.get("args")
    shown = ["?(%s)" % event.get("args_why")] if args is None else [str(a.get("value")) for a in args]
    shape = [",".join(map(str, triple(event.get(k)))) for k in ("grid", "block")]
    return "%s %s %s %s %s = %s" % (base_name(event.get("kernel")), shape[0], shape[1], event.get("shared"),
                                    " ".join(shown), event.get("status"))


def matches(expected, event, statuses):
    """Whether an event of a trace matches a line of the list."""
    if expected.graph:
        return re.sub(r"^(cuda|cu)|_ptsz$", "", event.get("api") or "") == expected.graph
    if event.get("event") != "launch" or not same_name(expected.kernel, event):
        return False
    if triple(event.get("grid")) != expected.grid or triple(event.get("block")) != expected.block:
        return False
    if event.get("shared") != expected.shared:
        return False
    if statuses:
        status = event.get("status")
        wanted = expected.status
        if wanted is None and status != 0:
            return False
        if wanted == "any" and status == 0:
            return False
        if wanted not in (None, "any") and str(status) != wanted:
            return False
    args = event.get("args")
    if args is None:
        # An unknown value is a difference only if the list has a value.
        return expected.kernel == "-" or all(a == "*" for a in expected.args)
    return len(args) == len(expected.args) and all(
        same_value(token, arg.get("value")) for token, arg in zip(expected.args, args))


def outermost(events):
    """Outermost launches of kernels and graphs: no other recorded call encloses them."""
    return [e for e in events if not e.get("parent") and
            (e.get("event") == "launch" or re.match(r"(cuda|cu)GraphLaunch", e.get("api") or ""))]


def compare(expected, events, runtime_seen=True, statuses=True, complete=True):
    """The differences between a list and a trace, as lines; none if they agree.

    runtime_seen: the runtime's own calls are visible (a shared runtime).
    statuses:     results are compared too (off where every launch is refused).
    complete:     everything expected has to be there.
    """
    left = [e.count for e in expected]
    wrong = []
    for event in outermost(events):
        for i, line in enumerate(expected):
            if left[i] and matches(line, event, statuses):
                left[i] -= 1
                break
        else:
            wrong.append("not expected: " + describe(event))
    for line, missing in zip(expected, left):
        needed = complete and not line.optional and (runtime_seen or not line.runtime_only)
        if missing and needed:
            wrong.append("%d missing of: %s" % (missing, line.text))
    return wrong


def count_by_name(events):
    """Number of outermost launches that succeeded, by mangled name, and of graph launches."""
    kernels, graphs = collections.Counter(), 0
    for event in outermost(events):
        if event.get("status") != 0:
            continue
        if event.get("event") == "launch":
            kernels[event.get("mangled") or event.get("kernel") or "-"] += 1
        else:
            graphs += 1
    return kernels, graphs


def compare_counts(kernels, graphs, counted):
    """The differences between a trace and CUPTI's count in the same process, as lines.

    counted: {"kernels": {mangled: n}, "graphs": n}, as cupti_count.c writes it."""
    wrong = []
    other = collections.Counter(counted["kernels"])
    for name in sorted(set(kernels) | set(other)):
        if kernels[name] != other[name]:
            wrong.append("%s: traced %d, CUPTI counted %d" % (name, kernels[name], other[name]))
    if graphs != counted["graphs"]:
        wrong.append("graph launches: traced %d, CUPTI counted %d" % (graphs, counted["graphs"]))
    return wrong
