"""Tests of scripts/changed: an unknown state counts as changed."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "scripts/changed")
OWN = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x",
       "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@x"}


class Changed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.work = os.path.join(self.folder.name, "work")
        os.makedirs(os.path.join(self.work, "target"))
        self.git("init", "-q", "-b", "main")
        self.write(".gitignore", "target\n")
        self.write("a", "1")
        self.write("b", "1")
        self.first = self.commit()

    def call(self, command, work=None, **more):
        env = {k: v for k, v in os.environ.items() if k != "TEST_BASE" and not k.startswith("GIT_")}
        env.update(OWN, **more)
        return subprocess.run(command, cwd=work or self.work, env=env, stdout=subprocess.PIPE, universal_newlines=True)

    def git(self, *words, work=None):
        done = self.call(("git",) + words, work)
        self.assertEqual(done.returncode, 0, words)
        return done.stdout.strip()

    def write(self, name, text):
        with open(os.path.join(self.work, name), "w") as file:
            file.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD")

    def since(self, work=None, **more):
        return self.call([SCRIPT, "--since"], work, **more).stdout.strip()

    def changed(self, since, *paths):
        return self.call([SCRIPT, since] + list(paths)).returncode == 0

    def clone(self, *options):
        where = os.path.join(self.folder.name, "clone%d" % len(os.listdir(self.folder.name)))
        self.git("clone", "-q", *options, "file://" + self.work, where)
        return where

    def test_what_changed(self):
        self.write("a", "2")
        self.assertTrue(self.changed(self.first, "a"))
        self.assertFalse(self.changed(self.first, "b"))
        self.commit()
        self.assertTrue(self.changed(self.first, "b", "a"))
        self.assertFalse(self.changed(self.first, ".", ":!a"))
        self.write("c", "")
        self.assertTrue(self.changed(self.first, "c"))

    def test_what_is_not_known(self):
        for since in ("", "nothing", "0" * 40):
            self.assertTrue(self.changed(since, "a"), since)
        self.assertEqual(self.since(), "")
        self.assertEqual(self.since(work=self.folder.name), "")
        self.assertEqual(self.since(TEST_BASE="nothing"), "")

    def test_where_it_is_known_from(self):
        self.write("target/test-passed", self.first + "\n")
        self.assertEqual(self.since(), self.first)
        self.write("a", "2")
        second = self.commit()
        self.assertEqual(self.since(TEST_BASE="main"), second)
        self.write("target/test-passed", "0" * 40)
        self.assertEqual(self.since(), "")

    def test_clones(self):
        work = self.clone()
        self.assertEqual(self.since(work), "", "the main branch itself")
        with open(os.path.join(work, "d"), "w"):
            pass
        self.git("checkout", "-qb", "other", work=work)
        self.git("add", "-A", work=work)
        self.git("commit", "-qm", "x", work=work)
        self.assertEqual(self.since(work), self.first)
        self.git("checkout", "-qb", "side")
        self.write("a", "2")
        self.commit()
        self.assertEqual(self.since(self.clone("--depth=1", "-b", "side")), "", "a shallow clone")
        self.assertEqual(self.since(self.clone("-b", "side")), self.first)
