"""Tests of the documents: links have targets, generated pages are up to date, and scripts/results works as it says."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def documents():
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return [name for name in done.stdout.splitlines() if os.path.exists(os.path.join(ROOT, name))]


def text(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


def anchors(page):
    """The anchors that GitHub generates for a page's headings."""
    plain = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    found = set()
    for heading in re.findall(r"^#+ (.*)$", plain, re.M):
        words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(words.strip().replace(" ", "-"))
    return found


def results():
    """scripts/results as a module."""
    loader = importlib.machinery.SourceFileLoader("results", os.path.join(ROOT, "scripts/results"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("results", loader))
    loader.exec_module(module)
    return module


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        seen = 0
        for name in documents():
            page = re.sub(r"^```.*?^```", "", text(name), flags=re.S | re.M)
            for target in re.findall(r"\]\(([^)\s]+)\)", page):
                if re.match(r"[a-z]+:", target):
                    continue
                seen += 1
                path, _, anchor = target.partition("#")
                there = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                self.assertTrue(os.path.exists(os.path.join(ROOT, there)), "%s links to %s" % (name, target))
                if anchor:
                    self.assertIn(anchor, anchors(text(there)), "%s links to %s" % (name, target))
        self.assertGreater(seen, 50)

    def test_code_names_documents_that_are_there(self):
        done = subprocess.run(["git", "grep", "-hoE", r"docs/[a-zA-Z0-9_/-]+\.(md|tsv)", "--", "*.rs", "*.toml", "*.py", "*.sh", "scripts", ":!c-tests/harness"],
                              cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True, check=True)
        for name in sorted(set(done.stdout.split())):
            self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)

    def test_results_are_generated(self):
        subprocess.run([os.path.join(ROOT, "scripts/results"), "--check"], check=True)

    def test_every_program_is_counted(self):
        module = results()
        rows, page = module.programs(), module.generated()
        total = re.search(r"\*\*tried, by name\*\* \| \*\*(\d+)\*\*", page)
        self.assertEqual(int(total.group(1)), len(rows))
        for row in rows:
            self.assertIn(row[1], page)

    def test_a_block_is_replaced_and_nothing_else(self):
        module = results()
        page = "before\n" + module.block("a", "old", "Head.", "1\n") + "between\n" + module.block("b", "other", "Head.", "2\n")
        new = module.block("a", "new", "Head.", "x | y\n\n| t |\n|---|\n| 3 |\n")
        self.assertEqual(module.replace(page, "a", new), page.replace(module.block("a", "old", "Head.", "1\n"), new))
        self.assertIn("```text\nx | y\n```\n\n| t |\n|---|\n| 3 |\n", new)
        with self.assertRaises(SystemExit):
            module.replace(page, "c", new)


if __name__ == "__main__":
    unittest.main()
