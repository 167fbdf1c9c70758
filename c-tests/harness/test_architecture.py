"""Compares ARCHITECTURE.md with the workspace: its crates, their imports, and the files that it names."""

import glob
import json
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "ARCHITECTURE.md")
WORDS_MAX = 1200
# Crates that other people's processes load; the program `cushim` and crates for tests are not among them.
LOADED = [".", "crates/audit", "crates/compilers", "crates/hsakmt", "crates/vcuda", "crates/fronts/cuda", "crates/fronts/cudart11",
          "crates/fronts/cudart12", "crates/fronts/cudart13", "crates/fronts/nvml"]
NO_PANIC = ["unwrap_used", "expect_used", "panic", "indexing_slicing"]


def real():
    """{folder of a crate: folders of the crates that it imports}, without imports of tests and build scripts only."""
    done = subprocess.run(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"], cwd=ROOT,
                          stdout=subprocess.PIPE, universal_newlines=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    folder = {p["name"]: os.path.relpath(os.path.dirname(p["manifest_path"]), ROOT) for p in packages}
    imports = {}
    for package in packages:
        names = {d["name"] for d in package["dependencies"] if d["kind"] is None and d.get("path")}
        imports[folder[package["name"]]] = {folder[name] for name in names}
    return imports


def listed(text):
    """The same from the page's table: | `crates/x` | what it owns | `a`, `b` |."""
    found = {}
    for row in re.findall(r"^\| (`[^|]+) \|[^|]*\|([^|]*)\|$", text, re.M):
        for crate in re.findall(r"`([^`]+)`", row[0]):
            found[crate] = {"crates/" + name for name in re.findall(r"`([^`]+)`", row[1])}
    return found


def modules(path):
    """The files of the modules that a Rust file declares, as `mod name;` or `#[path = "…"] mod name;`."""
    with open(path) as file:
        text = file.read()
    here, name = os.path.dirname(path), os.path.basename(path)[:-3]
    # A program's first file and mod.rs have their modules beside them, other files in a folder of their own name.
    first = name in ("main", "mod", "lib") or os.path.basename(here) == "tests"
    for where, module in re.findall(r'^(?:#\[path = "([^"]+)"\]\n)?(?:#\[[^\n]*\n)*(?:pub )?mod (\w+);', text, re.M):
        below = here if first else os.path.join(here, name)
        tries = [os.path.join(here, where)] if where else [os.path.join(below, module + ".rs"), os.path.join(below, module, "mod.rs")]
        yield from (os.path.realpath(file) for file in tries if os.path.exists(file))


class Architecture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE) as file:
            cls.text = file.read()

    def test_crates_and_imports(self):
        page, workspace = listed(self.text), real()
        # The libraries with CUDA's names share one row, and the package in the root has one.
        name = {".": "src"}
        workspace = {name.get(crate, crate): imports for crate, imports in workspace.items()}
        self.assertEqual(sorted(page), sorted(workspace), "the table's crates")
        for crate, imports in workspace.items():
            self.assertEqual(sorted(page[crate]), sorted(imports), "what %s imports" % crate)

    def test_every_test_file_is_in_a_program(self):
        # Cargo makes a program of each file in tests/ and each folder with a main.rs; files that no program declares never run.
        files = {os.path.realpath(file) for file in glob.glob(os.path.join(ROOT, "crates/*/tests/**/*.rs"), recursive=True)}
        left = [file for file in files if os.path.basename(os.path.dirname(file)) == "tests" or os.path.basename(file) == "main.rs"]
        self.assertGreater(len(left), 40)
        reached = set()
        while left:
            file = left.pop()
            if file not in reached:
                reached.add(file)
                left += modules(file)
        self.assertEqual(sorted(os.path.relpath(file, ROOT) for file in files - reached), [])

    def test_imports_make_no_circle(self):
        imports, done = dict(real()), set()
        while imports:
            free = [crate for crate, needs in imports.items() if needs <= done]
            self.assertTrue(free, "circle among %s" % sorted(imports))
            for crate in free:
                done.add(crate)
                del imports[crate]

    def test_what_runs_in_other_processes_may_not_panic(self):
        imports, todo, seen = real(), list(LOADED), set()
        while todo:
            crate = todo.pop()
            if crate not in seen:
                seen.add(crate)
                todo.extend(imports[crate])
        self.assertIn("crates/ptx-jit", seen)
        self.assertNotIn("crates/cli", seen)
        for crate in sorted(seen):
            with open(os.path.join(ROOT, crate, "Cargo.toml")) as file:
                denied = set(re.findall(r'^(\w+) = "deny"', file.read(), re.M))
            with open(os.path.join(ROOT, crate, "src/lib.rs")) as file:
                root = file.read()
            # A library that consists of jumps only has no code of its own.
            if "_front!" in root and "fn " not in root:
                continue
            for lints in re.findall(r"#!\[cfg_attr\(\s*not\(test\),\s*deny\(([^)]*)\)", root):
                denied.update(re.findall(r"clippy::(\w+)", lints))
            self.assertEqual([lint for lint in NO_PANIC if lint not in denied], [], crate)

    def test_what_it_names_is_there(self):
        text = re.sub(r"```.*?```", "", self.text, flags=re.S)
        paths = re.findall(r"`([\w.-]+/[\w./-]+)`", text) + re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text)
        self.assertGreater(len(paths), 10)
        for path in paths:
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)

    def test_it_is_a_page(self):
        self.assertLess(len(self.text.split()), WORDS_MAX)


if __name__ == "__main__":
    unittest.main()
