"""Completion in the real shells, each in a pseudo-terminal: a line is typed, TAB and Enter are pressed, and a program in
place of warpmark writes down which words it got. A shell that is not installed is reported as skipped.
usage: completion_test.py WARPMARK"""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

WARPMARK = os.path.abspath(sys.argv[1])
PATIENCE_S = 60  # far above what is needed
RECORDER = """#!/bin/sh
[ "$2" = complete ] && exec '{warpmark}' "$@"
for word in "$@"; do printf '%s\\n' "$word"; done > '{words}.new'
mv '{words}.new' '{words}'
"""


class Terminal:
    """An interactive shell; what it shows is read all the time, and its questions to the terminal are answered."""

    def __init__(self, words, environment, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.shown, self.over = "", False
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while not self.over:
            if not select.select([self.terminal], [], [], 0.05)[0]:
                continue
            try:
                text = os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                return
            self.shown += text
            for question, answer in (("\x1b[6n", "\x1b[1;1R"), ("\x1b[c", "\x1b[?1;2c"), ("\x1b[0c", "\x1b[?1;2c")):
                if question in text:
                    self.press(answer)

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def close(self):
        self.over = True
        self.reader.join()
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


class Completion:
    SHELL, SET_UP = [], ""

    def setUp(self):
        if shutil.which(self.SHELL[0]) is None:
            self.skipTest(f"{self.SHELL[0]} is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.words = self.path(".words")
        for name in ("my profile.json", "sub/trace.json", ".bin/warpmark", "rules.yaml"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(RECORDER.format(warpmark=WARPMARK, words=self.words))
        os.chmod(self.path(".bin/warpmark"), 0o755)
        self.environment = {"PATH": self.path(".bin") + ":" + os.environ["PATH"], "HOME": self.folder, "TERM": "xterm",
                            "LC_ALL": "C.UTF-8", "WARPMARK_DB": self.path("results.db"), "XDG_CONFIG_HOME": self.folder,
                            "XDG_DATA_HOME": self.folder, "PS1": "$ "}
        with open(self.path("script"), "w", encoding="utf-8") as file:
            subprocess.run([WARPMARK, "completion", self.SHELL[0]], stdout=file, check=True)
        self.terminal = Terminal(self.SHELL, self.environment, self.folder)
        self.addCleanup(self.terminal.close)
        self.terminal.press(self.SET_UP + "; warpmark is ready\r")
        self.assertEqual(self.wait_for_words(), ["is", "ready"], self.terminal.shown)
        self.assertNotRegex(self.terminal.shown, "rror|annot")

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_for_words(self):
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.words):
            self.assertLess(time.monotonic(), deadline, self.terminal.shown)
            time.sleep(0.01)
        with open(self.words, encoding="utf-8") as file:
            words = file.read().splitlines()
        os.remove(self.words)
        return words

    def check(self, typed, wanted):
        self.terminal.press("warpmark " + typed + "\t\r")
        self.assertEqual(self.wait_for_words(), wanted, f"{typed}: {self.terminal.shown[-2000:]}")

    def test_verbs_options_and_values(self):
        self.check("compl", ["completion"])
        self.check("run --sui", ["run", "--suite"])
        self.check("watch --format htm", ["watch", "--format", "html"])
        self.check("watch --format=htm", ["watch", "--format=html"])
        self.check("completion fis", ["completion", "fish"])
        self.check("-q run --sui", ["-q", "run", "--suite"])
        self.check("--color nev", ["--color", "never"])
        self.check("run --color=alw", ["run", "--color=always"])
        self.check("plan --model llama3-40", ["plan", "--model", "llama3-405b"])

    def test_workloads_metrics_and_devices(self):
        self.check("run cpu_triad_nothing", ["run", "cpu_triad_nothing"])
        self.check("run gem", ["run", self.only("workloads", "gem")])
        self.check("list datash", ["list", "datasheets"])
        self.check("check --metrics fl", ["check", "--metrics", "flop_rate"])

    def only(self, kind, begin):
        listed = subprocess.run([WARPMARK, "list", kind, "--ids"], capture_output=True, text=True, check=True).stdout
        fitting = [one for one in listed.splitlines() if one.startswith(begin)]
        return os.path.commonprefix(fitting)

    def test_files(self):
        self.check("analyze sub/tr", ["analyze", "sub/trace.json"])
        self.check("analyze my", ["analyze", "my profile.json"])
        self.check("watch rul", ["watch", "rules.yaml"])
        self.check("watch --state sub/tr", ["watch", "--state", "sub/trace.json"])
        self.check("watch --state=sub/tr", ["watch", "--state=sub/trace.json"])
        self.check("profile -- sub/tr", ["profile", "--", "sub/trace.json"])
        self.check("history import sub/tr", ["history", "import", "sub/trace.json"])

    def test_files_with_a_tilde_and_in_quotes(self):
        self.check("analyze ~/sub/tr", ["analyze", self.path("sub/trace.json")])
        self.check('analyze "my pro', ["analyze", "my profile.json"])
        self.check("analyze 'sub/tr", ["analyze", "sub/trace.json"])
        self.check('watch --state "my pro', ["watch", "--state", "my profile.json"])

    def test_stored_sessions(self):
        with open(self.path("results.json"), "w", encoding="utf-8") as file:
            json.dump({"benchmarks": []}, file)
        subprocess.run([WARPMARK, "run", "--budget", "1s", "--rounds", "1", "--name", "x", "--", "true"], env=self.environment, check=False,
                       capture_output=True)
        listed = subprocess.run([WARPMARK, "list", "runs", "--ids"], env=self.environment, capture_output=True, text=True,
                                check=False).stdout.split()
        self.assertTrue(listed, "nothing was stored")
        self.check("report " + listed[0][:-3], ["report", listed[0]])
        self.check("report las", ["report", "last"])
        self.check("history show " + listed[0][:-3], ["history", "show", listed[0]])
        self.check("history diff last " + listed[0][:-3], ["history", "diff", "last", listed[0]])


class Bash(Completion, unittest.TestCase):
    SHELL, SET_UP = ["bash", "--norc", "--noprofile", "-i"], "source ./script"


class Zsh(Completion, unittest.TestCase):
    SHELL, SET_UP = ["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u; source ./script"


class ZshFromFpath(Completion, unittest.TestCase):
    SHELL, SET_UP = ["zsh", "-f", "-i"], "cp script _warpmark; fpath=($HOME $fpath); autoload -Uz compinit; compinit -u"


class Fish(Completion, unittest.TestCase):
    SHELL, SET_UP = ["fish", "--no-config", "-i"], "source ./script"


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[2:])
