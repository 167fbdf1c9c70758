"""Tests of the check of Python's stacks by version: what it accepts, and that its table fits the programs."""

import json
import os
import sys
import unittest

import versions

with open(os.path.join(versions.HERE, "versions.json"), encoding="utf-8") as FILE:
    TABLE = json.load(FILE)


class Outputs(unittest.TestCase):
    def wrong(self, code, expected):
        return versions.run([sys.executable, "-c", code], dict(os.environ), expected)

    def test_right(self):
        self.assertIsNone(self.wrong("print('banner\\na 1\\nnoise\\nb True')", ["a 1", "b True"]))

    def test_another_value_a_missing_line_and_another_order_are_wrong(self):
        self.assertIn("no line `a 1`", self.wrong("print('a 2')", ["a 1"]))
        self.assertIn("no line `b`", self.wrong("print('a')", ["a", "b"]))
        self.assertIn("no line `b`", self.wrong("print('b\\na')", ["a", "b"]))

    def test_an_error_after_the_right_lines_is_wrong(self):
        self.assertIn("ended with 3", self.wrong("print('a'); raise SystemExit(3)", ["a"]))


class Table(unittest.TestCase):
    def test_every_program_exists_and_has_lines_to_print(self):
        for stack in TABLE.values():
            for programs in [stack["programs"]] + [about["programs"] for about in stack["versions"].values() if "programs" in about]:
                for program, lines in programs.items():
                    self.assertTrue(os.path.exists(os.path.join(versions.HERE, program)), program)
                    self.assertTrue(lines, program)

    def test_what_is_known_to_fail_is_a_program_of_the_stack_and_has_a_reason(self):
        for stack in TABLE.values():
            for about in stack["versions"].values():
                for program, reason in about.get("known", {}).items():
                    self.assertIn(program, about.get("programs", stack["programs"]))
                    self.assertTrue(reason)

    def test_every_version_pins_its_package(self):
        for name, stack in TABLE.items():
            for version, about in stack["versions"].items():
                pinned = about["packages"] + [about.get("sdist", "")]
                self.assertTrue(any(package.endswith("==" + version) for package in pinned), "%s %s" % (name, version))


if __name__ == "__main__":
    unittest.main()
