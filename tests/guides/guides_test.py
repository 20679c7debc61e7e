"""Runs what docs/guides show. A shell block behind a comment `<!-- test: exits 0 3 -->` is run, in the order of the page and in
one folder, and must end with one of these codes; with `<!-- test: exact -->` it must end with 0 and print exactly the text block
that follows it, with `<!-- test: shows -->` the lines of that block among others, in their order. README.md shows commands and
lines of what they print: those that need no GPU, no server and no history are run, too. Other blocks need a GPU or take long, and the page says which. Usage: guides_test.py WARPMARK SOURCE"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

WARPMARK, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2)) if __name__ == "__main__" else (None, None)
BLOCK = re.compile(r"<!-- test: (exact|shows|exits(?: \d+)+) -->\n+```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.S)
CONSOLE = re.compile(r"```console\n\$ (warpmark analyze .*)\n((?:.*\n)*?)```")
GUIDES = ("benchmark-a-machine", "find-and-fix-a-bottleneck", "guard-a-project", "load-test-a-server", "watch-a-fleet")


def trimmed(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def not_shown(wanted, output):
    """Lines of the page that are not in the output behind those before them."""
    left = iter(trimmed(output))
    return [line for line in trimmed(wanted) if line not in ("", "[...]") and line not in left]


class Readme(unittest.TestCase):
    def test_what_it_shows_of_a_trace_is_what_is_printed(self):
        shown = CONSOLE.findall((SOURCE / "README.md").read_text(encoding="utf-8"))
        self.assertTrue(shown)
        for command, lines in shown:
            done = subprocess.run([WARPMARK, *command.split()[1:]], cwd=SOURCE, env=os.environ | {"COLUMNS": "80"},
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(not_shown(lines, done.stdout), [], done.stdout)


def end_servers(path):
    """Of a guide that ended with an allowed code before its `kill "$(cat server.pid)"`."""
    for file in path.glob("*.pid"):
        try:
            os.kill(int(file.read_text()), signal.SIGTERM)
        except ProcessLookupError:
            pass


class Guide(unittest.TestCase):
    def follow(self, name):
        page = (SOURCE / f"docs/guides/{name}.md").read_text(encoding="utf-8")
        blocks = BLOCK.findall(page)
        self.assertEqual(len(blocks), page.count("<!-- test:"), "a comment is not followed by a shell block")
        self.assertGreaterEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory(prefix="warpmark guide ") as folder:
            path = pathlib.Path(folder)
            (path / "bin").mkdir()
            (path / "bin/warpmark").symlink_to(WARPMARK)
            environment = {"PATH": f"{path}/bin:{os.environ['PATH']}", "HOME": folder, "LC_ALL": "C.UTF-8",
                           "WARPMARK_DB": f"{path}/results.db", "WARPMARK_SOURCE": str(SOURCE),
                           "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
                           "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": "/dev/null"}
            # What a preset of sanitizers says of them holds for the program, too.
            environment |= {name: value for name, value in os.environ.items()
                            if name.endswith(("SAN_OPTIONS", "_NUM_THREADS"))}
            (path / "examples").symlink_to(SOURCE / "examples")
            for how, script, shown in blocks:
                with self.subTest(script[:60]):
                    done = subprocess.run(["bash", "-e", "-c", script], cwd=path, env=environment, capture_output=True,
                                          text=True, timeout=300)
                    allowed = [0] if how in ("exact", "shows") else [int(code) for code in how.split()[1:]]
                    self.assertIn(done.returncode, allowed, done.stdout + done.stderr)
                    if how == "exact":
                        self.assertEqual(trimmed(done.stdout), trimmed(shown))
                    if how == "shows":
                        self.assertEqual(not_shown(shown, done.stdout), [], done.stdout)
            end_servers(path)


for guide in GUIDES:
    setattr(Guide, "test_" + guide.replace("-", "_"), lambda self, guide=guide: self.follow(guide))

if __name__ == "__main__":
    unittest.main()
