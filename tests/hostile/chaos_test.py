"""Ends verbs by signals at random moments: nothing is left running, no temporary file is left, and the database is whole.

Usage: chaos_test.py WARPMARK [KILLS] [SEED]. A signal for each verb, and KILLS more (default 12) at random."""

import fcntl
import os
import random
import signal
import sqlite3
import sys
import termios
import time
import unittest

from verbs import VERBS, Room

WARPMARK = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
SIGNALS = (signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)


class Chaos(unittest.TestCase):
    def setUp(self):
        self.room = Room(WARPMARK)

    def tearDown(self):
        self.room.end_what_is_left()
        self.room.kept.cleanup()

    def check(self, what):
        self.assertTrue(self.room.comes_to(lambda: not self.room.left()), (what, self.room.left()))
        self.assertTrue(self.room.comes_to(lambda: not self.room.temporary()), (what, self.room.temporary()))
        if (self.room.folder / "results.db").exists():
            with sqlite3.connect(self.room.folder / "results.db") as database:
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], what)
        half = [path.name for path in self.room.folder.rglob("*.tmp*") if path.is_file()]
        self.assertEqual(half, [], what)

    @staticmethod
    def end(process, sent):
        if process.poll() is None:
            process.send_signal(sent)
        process.wait(60)
        if process.stdin is not None:
            process.stdin.close()

    def running(self, sleeps=3):
        """The command and its two descendants, not only the shell that starts them."""
        return sum(words.split() == ["sleep", self.room.sleep] for _, words in self.room.left()) >= sleeps

    def test_signals(self):
        for name, start in VERBS.items():
            for sent in SIGNALS:
                with self.subTest(verb=name, signal=sent.name):
                    process = start(self.room)
                    self.assertTrue(self.room.comes_to(lambda: self.running() or process.poll() is not None))
                    if name == "profile" and process.poll() == 5:
                        continue  # built without CUPTI's headers, it has no recorder
                    self.assertIsNone(process.poll(), "it ended before its command came to run")
                    self.end(process, sent)
                    self.check((name, sent.name))

    def test_editor_that_dies(self):
        process = VERBS["mcp"](self.room)
        self.assertTrue(self.room.comes_to(self.running))
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        self.check("mcp")

    def test_command_that_ends_by_the_signal(self):
        """At once, unlike a shell that waits: what it started is left to us."""
        for words in (["profile", "--out", "recording.wmrec"], ["report", "--measure"], ["run", "--no-store"]):
            for sent in SIGNALS:
                with self.subTest(words=words, signal=sent.name):
                    process = self.room.start([*words, "--", *self.room.program_that_ends()])
                    self.assertTrue(self.room.comes_to(lambda: self.running(2) or process.poll() is not None))
                    if process.poll() == 5:
                        continue  # built without CUPTI's headers, it has no recorder
                    self.end(process, sent)
                    self.check((words, sent.name))

    def on_a_terminal(self, words, end):
        """`end` is given the other end of the terminal once the command runs."""
        controller, terminal = os.openpty()
        child = os.fork()
        if child == 0:
            os.setsid()
            for fd in (0, 1, 2):
                os.dup2(terminal, fd)
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.close(controller)
            os.chdir(self.room.folder / "work")
            os.execve(WARPMARK, [WARPMARK, *words], self.room.environment)
        os.close(terminal)
        os.set_blocking(controller, False)
        self.assertTrue(self.room.comes_to(lambda: self.running(2)), words)
        end(controller)
        os.waitpid(child, 0)
        self.check(words)

    def test_closed_terminal(self):
        """Who had the terminal is gone, and the kernel tells the group that is in its foreground."""
        for name in ("run", "compare"):
            program = self.room.program()
            self.on_a_terminal([name, "--", *program, *(["--", *program] if name == "compare" else [])], os.close)

    def test_ctrl_c(self):
        """The terminal sends it to the command as well, which may be gone before we know."""
        def type_ctrl_c(controller):
            os.write(controller, b"\x03")
            self.addCleanup(os.close, controller)

        for words in (["run"], ["profile", "--out", "recording.wmrec"], ["report", "--measure"]):
            self.on_a_terminal([*words, "--", *self.room.program_that_ends()], type_ctrl_c)

    def test_monitor_leaves_the_second_screen(self):
        for sent in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            controller, terminal = os.openpty()
            self.room.environment["TERM"] = "xterm"  # whatever the caller's is: a dumb one has no second screen
            process = self.room.start(["monitor"], stdin=terminal, stdout=terminal, stderr=terminal)
            os.close(terminal)
            shown = b""
            while b"\x1b[?1049h" not in shown:
                shown += os.read(controller, 65536)
            process.send_signal(sent)
            try:
                while piece := os.read(controller, 65536):
                    shown += piece
            except OSError:  # the other end is closed
                pass
            process.wait(60)
            os.close(controller)
            self.assertTrue(shown.rstrip().endswith(b"\x1b[?1049l"), (sent, shown[-200:]))

    def test_at_random(self):
        draw = random.Random(SEED)
        ended = 0
        for _ in range(KILLS):
            name = draw.choice(sorted(VERBS))
            sent = draw.choice(SIGNALS)
            process = VERBS[name](self.room)
            time.sleep(draw.uniform(0, 1.5))
            ended += process.poll() is not None
            self.end(process, sent)
            self.check((name, sent.name, SEED))
        print(f"{KILLS} kills with seed {SEED}: nothing left; {ended} had ended before")


if __name__ == "__main__":
    for ends in SIGNALS[1:]:
        signal.signal(ends, signal.SIG_DFL)  # nohup, and a shell's background jobs, have them ignored by all they start
    unittest.main(argv=sys.argv[:1])
