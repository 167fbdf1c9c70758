"""Tests that what fuzzing found is tried in every test run: inputs of fuzz/regressions, and the tests that run them."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tests():
    """The text of each file of crates/*/tests, without comments."""
    crates = os.path.join(ROOT, "crates")
    for crate in sorted(os.listdir(crates)):
        for folder, _, names in os.walk(os.path.join(crates, crate, "tests")):
            for name in sorted(names):
                if name.endswith(".rs"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        yield re.sub(r"//.*", "", file.read())


def targets():
    names = os.listdir(os.path.join(ROOT, "fuzz/fuzz_targets"))
    return sorted(name[:-3] for name in names if name.endswith(".rs"))


class Fuzzing(unittest.TestCase):
    def test_a_test_runs_what_each_target_once_failed_on(self):
        # A file that calls it names the targets: as arguments, or in a table.
        running = [text for text in tests() if "corpus::regressions(" in text]
        missing = [target for target in targets() if not any('"%s"' % target in text for text in running)]
        self.assertEqual(missing, [], "no test calls corpus::regressions for these fuzz targets")

    def test_each_folder_of_inputs_is_a_target_s(self):
        folder = os.path.join(ROOT, "fuzz/regressions")
        names = os.listdir(folder)
        self.assertNotEqual(names, [])
        for name in names:
            self.assertIn(name, targets(), "fuzz/regressions/%s" % name)
            self.assertNotEqual(os.listdir(os.path.join(folder, name)), [], "fuzz/regressions/%s" % name)

    def test_each_target_is_built(self):
        with open(os.path.join(ROOT, "fuzz/Cargo.toml"), encoding="utf-8") as file:
            built = re.findall(r'^\[\[bin\]\]\nname = "(.*)"', file.read(), re.M)
        self.assertEqual(sorted(built), targets())


if __name__ == "__main__":
    unittest.main()
