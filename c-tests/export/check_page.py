"""Opens an HTML report in headless Chromium, uses it as a person would, and compares its content
with the events.

    python c-tests/export/check_page.py CHROMIUM REPORT.html LINES.jsonl [SCREENSHOT.png]

LINES are the same traces, written by `cushim export --to jsonl`: this script computes all sums from the
single events. Needs the package `playwright` (PyPI) and a Chromium; nothing is downloaded.
"""

import json
import re
import sys
from collections import Counter, defaultdict

from playwright.sync_api import sync_playwright

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "%": 0.01}


def plain(text):
    """The number that a person reads in `2.39 ms` or `37 496`."""
    match = re.fullmatch(r"([\d.,  \u202f]+?)\s*(ns|µs|ms|s|B|KiB|MiB|GiB|%)?(?:/s)?", text)
    assert match, text
    return float(re.sub(r"[^\d.]", "", match[1])) * UNITS[match[2] or "B"]


def near(shown, true, what):
    """The page shows three digits of a time, two of a share."""
    assert abs(shown - true) <= max(0.0051 * abs(true), 0.51 if true > 1 else 0.0006), (what, shown, true)


class Truth:
    """The sums of the events, counted without cushim's help."""

    def __init__(self, path):
        self.kernels, self.apis, self.threads = defaultdict(list), defaultdict(list), defaultdict(list)
        self.launches, self.bytes = [], 0
        self.events, self.gaps, self.marks, self.gpu = 0, [], [], []
        last, begins, ends = {}, [], []
        for line in open(path, encoding="utf-8"):
            e = json.loads(line)
            if "t_ns" not in e:
                continue
            self.events += 1
            begins.append(e["t_ns"])
            ends.append(e["t_ns"] + (e.get("call_ns") or e.get("gpu_ns") or 0))
            if e["event"] == "mark":
                self.marks.append((e["t_ns"], e["text"]))
            if e["event"] == "gpu":
                self.gpu.append(e)
            if e["event"] in ("mark", "gpu", "nvtx") or e["depth"] > 0:
                continue
            if e["event"] == "copy" and e["status"] == 0:
                self.bytes += sum(a["value"] for a in e["args"] or [] if a["name"] == "count" and a["type"] == "size")
            thread = (e["pid"], e["tid"])
            self.apis[e["api"]].append(e["call_ns"])
            self.threads[thread].append(e)
            if e["event"] == "launch":
                self.launches.append(e)
                # Several kernels may share one short name.
                self.kernels[e["mangled"] or e["kernel"]].append(e)
                if thread in last:
                    self.gaps.append(max(0, e["t_ns"] - last[thread]))
                last[thread] = e["t_ns"] + (e["call_ns"] or 0)
        self.start = min(begins)
        self.duration = max(ends) - self.start
        self.begins = sorted(begins)


class Page:
    def __init__(self, page, truth):
        self.page, self.truth = page, truth
        self.data = json.loads(page.locator("#data").text_content())

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def tab(self, name):
        self.page.locator(f"#tab-{name}").click()
        assert self.page.locator(f"#tab-{name}").get_attribute("aria-selected") == "true"
        for more in range(20):
            if not self.page.locator("#more").count():
                break
            self.page.locator("#more").click()
        return self.rows()

    def rows(self):
        """The visible rows, as heading -> text, and the exact numbers in data-value."""
        return self.page.evaluate("""() => {
            const heads = [...document.querySelectorAll("#table > thead th button")].map(b => b.textContent.replace(/ [▾▴]$/, ""));
            return [...document.querySelectorAll("#table > tbody > tr:not(.details)")].map(tr =>
                Object.fromEntries([...tr.children].map((td, n) => [heads[n], [td.textContent, td.dataset.value ?? null]])));
        }""")

    # --- the checks -----------------------------------------------------------

    def head(self):
        truth = self.truth
        assert plain(self.text("#total-launches")) == len(truth.launches)
        assert plain(self.text("#total-events")) == truth.events
        near(plain(self.text("#total-duration")), truth.duration, "duration")
        total = sum(ns or 0 for calls in truth.apis.values() for ns in calls)
        near(plain(self.text("#total-calls")), total, "host time")
        pids = {pid for pid, _ in truth.threads}
        assert pids <= {p["pid"] for p in self.data["processes"]}
        self.page.locator("#processes").evaluate("d => d.open = true")
        for process in self.data["processes"][:200]:
            assert f"process {process['pid']} on {process['host']}" in self.text("#processes")

    def kernels(self):
        rows = self.tab("kernel")
        truth = self.truth.kernels
        assert len(rows) == len(truth), (len(rows), len(truth))
        whole = sum(e["call_ns"] or 0 for calls in truth.values() for e in calls) or 1
        for row in rows:
            kernel = self.data["kernels"][row["id"][0]]
            calls = truth[kernel["symbol"] or kernel["declaration"]]
            times = sorted(e["call_ns"] for e in calls if e["call_ns"] is not None)
            assert int(row["calls"][0]) == len(calls), row
            near(plain(row["total"][0]), sum(times), row)
            near(plain(row["max"][0]), times[-1], row)
            near(plain(row["mean"][0]), sum(times) / len(times), row)
            near(plain(row["share"][0]), sum(times) / whole, row)
            for share, column in ((0.5, "p50"), (0.99, "p99")):
                true = times[max(0, -int(-len(times) * share // 1) - 1)]
                assert abs(plain(row[column][0]) - true) <= true / 60 + 1, (column, row, true)
            shapes = {json.dumps([e["grid"], e["block"], e["cluster"], e["shared"]]) for e in calls}
            assert int(row["shapes"][0]) == min(len(shapes), 1025), row
            self.arguments(row["id"][0], calls)
        return rows

    def arguments(self, number, calls):
        """Opens a row, and compares the arguments that never changed."""
        button = self.page.locator("#table button.link", has_text=re.compile(f"^{number}$"))
        button.click()
        details = self.page.locator("tr.details")
        assert details.count() == 1 and details.is_visible()
        known = [e["args"] for e in calls]
        if len(calls) > 1 and all(known) and all("hex" in a for args in known for a in args):
            shown = details.locator(".arguments tbody tr")
            assert shown.count() == len(known[0])
            for n in range(shown.count()):
                values = {args[n]["hex"] for args in known}
                text = shown.nth(n).locator("td").nth(4).inner_text()
                assert text.startswith("always ") == (len(values) == 1), (number, n, text, len(values))
        button.click()
        assert self.page.locator("tr.details").count() == 0

    def sorting(self, rows):
        """Sorts by every heading of the kernels, both ways."""
        heads = self.page.locator("#table > thead th button")
        for n in range(heads.count()):
            column = re.sub(" [▾▴]$", "", heads.nth(n).inner_text())
            for click in range(2):
                heads.nth(n).click()
                now = [row[column] for row in self.rows()]
                assert sorted(now, key=str) == sorted((row[column] for row in rows), key=str)
                order = self.page.locator("#table > thead th").nth(n).get_attribute("aria-sort")
                assert order == ("descending" if (now[0][1] is not None) == (click == 0) else "ascending")
                if now[0][1] is None:
                    continue
                numbers = [float(value) for _, value in now if value is not None]
                assert numbers == sorted(numbers, reverse=order == "descending"), (column, numbers[:5])
                for text, value in now:
                    # Unknown values are empty.
                    assert (text == "") == (value is None), (column, text, value)
                    if text:
                        near(plain(text), float(value), (column, text, value))

    def searching(self, rows):
        word = sorted(re.findall(r"\w{3,}", rows[0]["name"][0]), key=len)[-1]
        self.page.locator("#search").fill(word.upper())
        expected = [r for r in rows if word.lower() in " ".join(text for text, _ in r.values()).lower()]
        assert {r["id"][0] for r in self.rows()} == {r["id"][0] for r in expected}
        assert plain(self.text("#found").split(" of ")[0]) == len(expected)
        self.page.locator("#search").fill("no kernel has this name")
        assert self.rows() == [] and self.text("#found").startswith("0 of ")
        self.page.locator("#search").fill("")
        assert len(self.rows()) == len(rows)
        return word

    def others(self):
        """Every other table agrees with the events."""
        shown = [t["id"] for t in self.data["tables"]]
        assert len(set(shown)) == len(shown)
        for row in self.tab("api"):
            calls = self.truth.apis[row["name"][0]]
            assert int(row["calls"][0]) == len(calls), row
            near(plain(row["total"][0]), sum(ns or 0 for ns in calls), row)
        if "copy" in shown:
            assert sum(int(row["bytes"][1]) for row in self.tab("copy")) == self.truth.bytes
        if "gpu-stream" in shown:
            rows = self.tab("gpu-stream")
            assert sum(int(row["GPU runs"][0]) for row in rows) == len(self.truth.gpu)
            assert sum(float(row["GPU total"][1]) for row in rows) == sum(e["gpu_ns"] for e in self.truth.gpu)
            drawn = [bin for lane in self.data["lanes"] if lane["gpu"] for bin in lane["bins"]]
            assert sum(sum(bin[1:5]) for bin in drawn) == sum(e["gpu_ns"] for e in self.truth.gpu)
            assert "GPU" in self.text("#times")
        for row in self.tab("thread"):
            calls = self.truth.threads[int(row["process"][0]), int(row["name"][0])]
            assert int(row["calls"][0]) == len(calls), row
            assert int(row["launches"][0]) == sum(e["event"] == "launch" for e in calls), row
        shapes = Counter((e["mangled"] or e["kernel"], tuple(e["grid"]), tuple(e["block"])) for e in self.truth.launches)
        total = sum(int(row["calls"][0]) for row in self.tab("shape"))
        assert total == sum(shapes.values())
        for name in ("stream", "rank"):
            if name in shown:
                rows = self.tab(name)
                assert sum(int(row["calls"][0]) for row in rows) == len(self.truth.launches), name
        if "gap" in shown:
            rows = self.tab("gap")
            largest = sorted(self.truth.gaps, reverse=True)[:50]
            assert [float(row["pause"][1]) for row in rows] == largest
            before = self.text("#overview-range")
            self.page.locator("#table button.link").first.click()
            assert len(self.truth.launches) < 3 or self.text("#overview-range") != before or largest[0] * 3 > self.truth.duration
            self.page.locator("#zoom-all").click()
        if self.truth.marks:
            # Control characters appear as text: the plain characters must agree.
            letters = [re.sub(r"\W", "", row["name"][0]) for row in self.tab("mark")]
            assert len(letters) == len(self.truth.marks)
            true = [re.sub(r"\W", "", mark) for _, mark in sorted(self.truth.marks)]
            assert all(a[:5] == b[:5] for a, b in zip(true, letters)), (true, letters)
        for name in shown:
            table = next(t for t in self.data["tables"] if t["id"] == name)
            assert len(self.tab(name)) == len(table["rows"]), name
        print("  tables:", ", ".join(f"{t['id']} {t['of']}" for t in self.data["tables"]))

    def overview(self):
        """Clicks the busiest place of each of the first lanes, and compares the text with the events."""
        canvas = self.page.locator("#overview")
        canvas.scroll_into_view_if_needed()
        lanes = self.data["lanes"]
        checked = 0
        for row, lane in enumerate(lanes[:12]):
            match = re.search(r"process (\d+), thread (\d+)$", lane["name"])
            if not match or not lane["bins"]:
                continue
            bins = max(lane["bins"], key=lambda b: (b[5], sum(b[1:5])))
            self.page.locator("#zoom-all").click()
            box = canvas.bounding_box()
            # The page's drawing area: the gutter's width depends on the names.
            plot = self.page.evaluate("overview.plot()")
            at = plot["left"] + (bins[0] + lane["width_ns"] / 2) / max(1, self.data["duration_ns"]) * plot["width"]
            at = min(at, plot["left"] + plot["width"])
            y = plot["top"] + row * plot["step"] + plot["step"] * 0.7
            if y > box["height"]:
                break
            self.page.mouse.click(box["x"] + at, box["y"] + y)
            said = self.text("#overview-hint")
            assert said.startswith(lane["name"] + ", "), said
            assert re.search(r": [\d\u202f]+ launch", said), said
            # A pixel is wider than a bin: the text says which bin was hit.
            hit = self.page.evaluate("overview.chosen()")
            assert hit["row"] == row and hit["bin"] in lane["bins"], hit
            begin = self.truth.start + hit["bin"][0]
            calls = self.truth.threads[int(match[1]), int(match[2])]
            inside = sum(begin <= e["t_ns"] < begin + lane["width_ns"] for e in calls if e["event"] == "launch")
            shown = plain(re.search(r": ([\d\u202f]+) launch", said)[1])
            assert shown == hit["bin"][5] == inside, (said, inside)
            time = sum(min(e["t_ns"] + (e["call_ns"] or 0), begin + lane["width_ns"]) - max(e["t_ns"], begin)
                       for e in calls if e["t_ns"] < begin + lane["width_ns"] and e["t_ns"] + (e["call_ns"] or 0) > begin)
            assert time == sum(hit["bin"][1:5]), (time, hit)
            # The bin is drawn, too.
            painted = self.page.evaluate("""([x, y]) => {
                const c = document.getElementById("overview"), d = window.devicePixelRatio || 1;
                return [...c.getContext("2d").getImageData((x - 3) * d, (y - 20) * d, 7 * d, 23 * d).data].some((v, n) => n % 4 === 3 && v > 0);
            }""", [at, y])
            assert painted
            checked += 1
        assert checked, "no lane could be clicked"
        # The lanes show all launches, and no others.
        host = sum(b[5] for lane in lanes if not lane["gpu"] for b in lane["bins"])
        assert host == len(self.truth.launches) or len(lanes) >= 256, (host, len(self.truth.launches))

        whole = self.text("#overview-range")
        assert whole.startswith("0 ns to ")
        box = canvas.bounding_box()
        plot = self.page.evaluate("overview.plot()")

        def x(part):
            return box["x"] + plot["left"] + plot["width"] * part

        self.page.mouse.move(x(0.25), box["y"] + 10)
        self.page.mouse.down()
        self.page.mouse.move(x(0.5), box["y"] + 12, steps=4)
        self.page.mouse.up()
        begin, end = self.text("#overview-range").split(" of ")[0].split(" to ")
        duration = self.data["duration_ns"]
        for shown, part in ((begin, 0.25), (end, 0.5)):
            assert abs(plain(shown) - duration * part) <= duration * 0.01 + 2, (shown, duration * part)
        canvas.focus()
        for key, button in (("+", "#zoom-in"), ("-", "#zoom-out")):
            before = self.text("#overview-range")
            self.page.keyboard.press(key)
            assert self.text("#overview-range") != before or duration < 8000
            self.page.locator(button).click()
            canvas.focus()
        self.page.keyboard.press("Escape")
        assert self.text("#overview-range") == whole and self.text("#overview-hint").strip() == ""
        print(f"  overview: {checked} of {len(lanes)} lanes clicked")


def main():
    chromium, report, lines = sys.argv[1:4]
    truth = Truth(lines)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 1200}, device_scale_factor=1)
        errors, requests = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (errors.append("a dialog: " + dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"file://{report}")
        shown = Page(page, truth)
        shown.head()
        if truth.launches:
            rows = shown.kernels()
            print(f"  kernels: {len(rows)}, each with its figures and arguments")
            shown.sorting(rows)
            print(f"  sorted by each column, searched for {shown.searching(rows)!r}")
        shown.others()
        shown.overview()
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
        assert len(ids) == len(set(ids)), [i for i, n in Counter(ids).items() if n > 1]
        # Foreign names remain text.
        assert page.locator("body > script").count() == 2 and page.locator("img, iframe, b").count() == 0
        assert requests == [f"file://{report}"], requests
        assert not errors, errors
        if len(sys.argv) > 4:
            page.locator("#zoom-all").click()
            page.locator("#tab-kernel").click() if truth.launches else None
            page.screenshot(path=sys.argv[4], full_page=True)
        browser.close()


main()
