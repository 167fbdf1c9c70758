"""What a script left out, and why: a line on stdout, and one in the file $TEST_SKIPS, which scripts/test prints at its end."""

import os


def left_out(what):
    print("left out: %s" % what, flush=True)
    if os.environ.get("TEST_SKIPS"):
        with open(os.environ["TEST_SKIPS"], "a", encoding="utf-8") as file:
            file.write("%s\n" % what)
