"""Verbs that start something, and what they leave behind. Every process they start has a mark in its environment, or
sleeps for a time that nobody else sleeps."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

MARK = "WARPMARK_CHAOS"


class Room:
    """A folder with its own home, temporary folder and database."""

    def __init__(self, warpmark):
        self.warpmark = warpmark
        self.kept = tempfile.TemporaryDirectory(prefix="warpmark-chaos-")
        self.folder = pathlib.Path(self.kept.name)
        for name in ("tmp", "home", "work"):
            (self.folder / name).mkdir()
        self.count = 0
        self.sleep = "nothing yet"
        self.environment = {**os.environ, "TMPDIR": str(self.folder / "tmp"), "HOME": str(self.folder / "home"),
                            "WARPMARK_DB": str(self.folder / "results.db"), MARK: str(self.folder)}
        self.environment.pop("XDG_DATA_HOME", None)

    def program(self):
        """A command that never ends, with a descendant that left its session and its environment."""
        self.count += 1
        self.sleep = f"7{os.getpid()}.{self.count}"
        script = f"env -i setsid sleep {self.sleep} & setsid sleep {self.sleep} & sleep {self.sleep}"
        return ["sh", "-c", script]

    def program_that_ends(self):
        """A command that any signal ends at once, with a descendant of which it knows nothing."""
        self.program()
        return ["sh", "-c", f"setsid sleep {self.sleep} & exec sleep {self.sleep}"]

    def start(self, words, **options):
        """In a process group of its own, as a shell starts a job."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
        return subprocess.Popen([self.warpmark, *words], env=self.environment, cwd=self.folder / "work",
                                start_new_session=True, **streams)

    def left(self):
        """Processes of ours but for zombies, whose parent has yet to look."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                words = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            marked = f"{MARK}={self.folder}".encode() in environment
            if state != "Z" and (marked or f"sleep\0{self.sleep}\0".encode() in words):
                found.append((int(entry.name), words.replace(b"\0", b" ").decode(errors="replace")))
        return found

    def comes_to(self, condition, seconds=60):
        """Whether it becomes true. A slow machine takes longer, and no test may depend on that."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            time.sleep(0.05)
        return False

    def temporary(self):
        return sorted(str(path.relative_to(self.folder)) for path in (self.folder / "tmp").iterdir())

    def end_what_is_left(self):
        for process, _ in self.left():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


def mcp(room):
    """An agent's server that runs a command."""
    config = room.folder / "work" / "mcp.yaml"
    config.write_text("schema: warpmark.mcp/1\ncommands:\n  endless: {run: " + json.dumps(room.program()) + "}\n")
    process = room.start(["mcp", "--config", "mcp.yaml"], stdin=subprocess.PIPE)
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run", "arguments": {"command": "endless"}}}]
    process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
    process.stdin.flush()
    return process


def matrix(room):
    text = " ".join(f"'{word}'" for word in room.program())
    (room.folder / "work" / "matrix.yaml").write_text(
        "schema: warpmark.matrix-file/1\ncommand:\n  run: " + json.dumps(text) + "\n  timeout: 5000s\n"
        "axes:\n  env.A: [1, 2]\nbaseline: {env.A: 1}\n")
    return room.start(["matrix", "matrix.yaml", "--fresh"])


def eval_run(room):
    work = room.folder / "work"
    (work / "questions.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (work / "task.yaml").write_text(
        "schema: warpmark.task/1\nname: chaos\ndata: {file: questions.jsonl}\nprompt: '{{question}}'\nanswer: '{{answer}}'\n"
        "metrics: [exact_match]\n")
    command = " ".join(f"'{word}'" for word in room.program())
    return room.start(["eval", "run", "task.yaml", "--command", command, "--no-store"])


def plain(*words, twice=False):
    def start(room):
        program = room.program()
        return room.start([*words, "--", *program, *(["--", *program] if twice else [])])
    return start


VERBS = {
    "run": plain("run", "--rounds", "3"),
    "compare": plain("compare", "--fresh", "--rounds", "7", twice=True),
    "optimize": plain("optimize", "--fresh", "--no-store"),
    "profile": plain("profile", "--out", "recording.wmrec"),
    "check": plain("check"),
    "scale": plain("scale", "--ranks", "1,2"),
    "matrix": matrix,
    "mcp": mcp,
    "eval": eval_run,
}
