"""Files that are damaged, endless, or made to deceive a terminal: every verb that reads one gives a result or a short error.

Usage: inputs_test.py WARPMARK [INPUTS] [SEED]. INPUTS are mutated files over all kinds (default 150)."""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

WARPMARK = os.path.abspath(sys.argv[1])
INPUTS = int(sys.argv[2]) if len(sys.argv) > 2 else 150
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data/hostile"
CODES = {0, 1, 2, 3, 4, 5}  # docs/cli/exit-codes.md
# Control characters, also those of two bytes, and what turns the direction of text.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
DECEIVES = "\x1b]0;title\x07\x1b]8;;http://evil\x1b\\\u009b31m\u202eabc\u2066\u2028<script>alert(1)</script>"
SHORT = ["--device", "cpu", "--rounds", "1", "--budget", "1s", "--no-ceilings", "--no-store"]


def run(words, folder, limit_s=300, input_bytes=b"", database=None):
    """What it printed, how it ended, and the most memory of it."""
    environment = {**os.environ, "WARPMARK_DB": str((database or folder) / "results.db"), "HOME": str(folder), "TMPDIR": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    ended = subprocess.run([WARPMARK, *words], cwd=folder, env=environment, input=input_bytes, capture_output=True,
                           timeout=limit_s, check=False)
    ended.seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended


def peak_bytes(words, folder):
    """By a shell of its own, as the maximum over all children would be that of the largest so far."""
    code = ("import resource, subprocess, sys; "
            "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode; "
            "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
    said = subprocess.run([sys.executable, "-c", code, WARPMARK, *words], cwd=folder, capture_output=True, timeout=300,
                          check=True, text=True).stdout.split()
    return int(said[0]), int(said[1])


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="warpmark-hostile-")
        cls.folder = pathlib.Path(cls.kept.name)
        cls.make_own_files()

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def make_own_files(cls):
        """What the product writes and reads back."""
        own = cls.folder / "own"
        own.mkdir()
        run(["run", "triad", "--set", "size=1MiB", *SHORT, "--json", "own/run.json"], cls.folder)
        run(["run", "--rounds", "2", "--no-store", "--json", "own/command.json", "--", "true"], cls.folder)
        (own / "ref.jsonl").write_text('{"id": "1", "text": "a b"}\n{"id": "2", "text": "c"}\n')
        (own / "out.jsonl").write_text('{"id": "1", "text": "a b"}\n{"id": "2", "text": "d"}\n')
        run(["eval", "score", "exact_match", "--ref", "own/ref.jsonl", "--predictions", "own/out.jsonl", "--json",
             "own/scores.json", "--no-store"], cls.folder)
        for name in ("run", "command", "scores"):
            if not (own / f"{name}.json").exists():
                raise RuntimeError(f"{name}.json was not made")
        (own / "load.json").write_bytes((DATA / "load.json").read_bytes())
        corpus = SOURCE / "fuzz/corpus"
        for name, source in (("trace.jsonl", "load_files/mooncake"), ("prompts.jsonl", "load_files/lines"),
                             ("mllog.txt", "mllog/log"), ("plan.yaml", "plan/plan.yaml")):
            (own / name).write_bytes((corpus / source).read_bytes())

    def check(self, ended, words):
        said = (words, ended.returncode, ended.stderr[-400:], SEED)
        self.assertIn(ended.returncode, CODES, said)
        self.assertIsNone(CONTROL.search(ended.stderr), said)
        self.assertIsNone(CONTROL.search(ended.stdout), (*said, CONTROL.search(ended.stdout)))
        self.assertNotIn(b"json.exception", ended.stderr, said)
        self.assertNotIn(b"does not know", ended.stderr, said)  # the outermost handler: some reader is not typed
        self.assertIsNotNone(ended.stderr.decode("utf-8"), said)

    def commands(self, path):
        """Every verb that reads such a file."""
        name = path.name
        if name.endswith(".yaml"):
            return {"matrix": ["matrix", name, "--no-store", "--fresh"], "rules": ["watch", name, "--dry-run"],
                    "criteria": ["accept", name, "--results", "own/run.json", "--no-store"],
                    "mcp": ["mcp", "--config", name, "--check"], "task": ["eval", "run", name, "--command", "true", "--no-store"],
                    "project": ["check", "--project", name], "suite": ["run", "--suite", name, "--dry-run"],
                    "apply": ["optimize", "--apply", name, "--", "true"]}
        if name.endswith((".jsonl", ".txt", ".csv")):
            load = ["load", "run", "--api-base", "http://127.0.0.1:9", "--api-model-name", "m", "--no-store"]
            return {"score": ["eval", "score", "exact_match", "--ref", name, "--predictions", "own/out.jsonl", "--no-store"],
                    "allclose": ["allclose", name, name], "analyze": ["analyze", name], "mllog": ["mllog", name],
                    "dataset": [*load, "--traffic-scenario", "dataset", "--dataset-path", name], "trace": [*load, "--trace", name]}
        return {"load": ["load", "compare", name, name], "pareto": ["eval", "pareto", f"{name}=1", "own/scores.json=2"],
                "report": ["report", name], "diff": ["compare", name, "own/run.json"], "import": ["history", "import", name],
                "check": ["check", "--run", name], "accept": ["accept", "cpu-smoke", "--results", name, "--no-store"],
                "analyze": ["analyze", name], "plan": ["plan", "--measured-links", name], "across": ["accept", "--across", name, name]}

    def try_all(self, path):
        for words in self.commands(path).values():
            self.check(run(words, self.folder), words)

    def test_files_that_once_ended_it(self):
        for path in sorted(DATA.iterdir()):
            (self.folder / path.name).write_bytes(path.read_bytes())
            with self.subTest(file=path.name):
                self.try_all(self.folder / path.name)
        for name in ("minimal_load_compare.json", "loadjson_crash_7d3aa815.json"):
            words = ["load", "compare", name, name]
            ended = run(words, self.folder)
            self.assertEqual(ended.returncode, 2, ended)
            self.assertEqual(len(ended.stderr.splitlines()), 2, "what happened, and what to do")

    def test_mutated(self):
        samples = self.samples()
        for number in range(INPUTS):
            draw = random.Random(f"{SEED}-{number}")
            kind, path = draw.choice(samples)
            damaged = self.folder / ("damaged" + "".join(path.suffixes[-2:]))
            damaged.write_bytes(mutated(path.read_bytes(), draw))
            commands = self.commands(damaged)
            words = commands[kind] if kind else draw.choice(sorted(commands.values()))
            with self.subTest(number=number, file=path.name):
                try:
                    ended = run(words, self.folder)
                    self.check(ended, words)
                    self.assertLess(ended.cpu_s, 10)
                    self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, 2e9)
                except (AssertionError, subprocess.TimeoutExpired):
                    kept = pathlib.Path(tempfile.gettempdir()) / f"warpmark-hostile-{SEED}-{number}"
                    shutil.copyfile(damaged, kept)
                    print("kept:", kept, words, flush=True)
                    raise
            if number % 1000 == 999:
                print(f"{number + 1} inputs with seed {SEED}", flush=True)

    def samples(self):
        found = [(kind, path) for kind, path in (
            ("load", self.folder / "own/load.json"), ("pareto", self.folder / "own/scores.json"),
            ("report", self.folder / "own/run.json"), ("diff", self.folder / "own/command.json"),
            ("import", self.folder / "own/run.json"), ("check", self.folder / "own/command.json"),
            ("accept", self.folder / "own/run.json"), ("across", self.folder / "own/run.json"),
            ("score", self.folder / "own/out.jsonl"), ("trace", self.folder / "own/trace.jsonl"),
            ("dataset", self.folder / "own/prompts.jsonl"), ("mllog", self.folder / "own/mllog.txt"),
            ("apply", self.folder / "own/plan.yaml"))]
        for kind, pattern in (("rules", "examples/watch/*.yaml"), ("matrix", "examples/matrix/*.yaml"),
                              ("suite", "suites/*.yaml"), ("task", "examples/eval/*.yaml"),
                              ("analyze", "examples/traces/*"), ("project", "tests/data/hostile/project*.yaml")):
            found += [(kind, path) for path in sorted(SOURCE.glob(pattern)) if path.is_file()]
        for folder in sorted((SOURCE / "fuzz/corpus").iterdir()):
            found += [(None, path) for path in sorted(folder.iterdir())[:4]]
        return [(kind, path) for kind, path in found if path.exists() and path.stat().st_size > 0]

    def test_names_that_deceive(self):
        """In a profile, in the name of a file, in words, in output and branches: in every format."""
        folder = self.folder / "names"
        folder.mkdir()
        self.make_profile(folder / os.fsdecode(b"y\xff\x1b[31m.json"))
        profile = os.fsdecode(b"names/y\xff\x1b[31m.json")
        subprocess.run(["git", "init", "-q", "-b", "b\u202e\u009b<b>", folder], check=True)
        commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", DECEIVES]
        subprocess.run(["git", "-C", folder, *commit], check=True)
        run(["run", "--rounds", "2", "--", "echo", DECEIVES], folder, database=self.folder)
        run(["run", "--rounds", "2", "--", "sh", "-c", "printf '\\033]0;x\\007\\377'; exit 3"], folder, database=self.folder)
        for words in (["analyze", profile, "--all"], ["analyze", profile, "--format", "md"], ["analyze", profile, "--format", "html"],
                      ["analyze", profile, "--json"], ["analyze", profile, "--query", "select name from events", "--json"],
                      ["report"], ["report", "--format", "md"], ["report", "--format", "html"], ["report", "--json"], ["history"],
                      ["trend"], ["trend", "--json"], ["check"], ["help", DECEIVES], ["report", DECEIVES],
                      ["run", "--rounds", "1", "--", "./" + DECEIVES]):
            with self.subTest(words=words):
                ended = run(words, self.folder)
                self.check(ended, words)
                if "html" in words:
                    self.assertNotIn(b"<script>alert", ended.stdout)
        run(["analyze", profile, "--html", "names/page.html"], self.folder)
        page = (folder / "page.html").read_bytes()
        self.assertIsNone(CONTROL.search(page))
        self.assertNotIn(b"<script>alert", page)

    @staticmethod
    def make_profile(path):
        events = []
        for step in range(20):
            at = step * 10000
            events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": 9900},
                       {"ph": "X", "cat": "cpu_op", "name": "op" + DECEIVES, "pid": 1, "tid": 1, "ts": at + 50, "dur": 9000},
                       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 100, "dur": 10,
                        "args": {"correlation": step + 1}},
                       {"ph": "X", "cat": "kernel", "name": "kernel" + DECEIVES, "pid": 0, "tid": 7, "ts": at + 120, "dur": 4000,
                        "args": {"correlation": step + 1, "device": 0, "stream": 7}}]
        gpu = {"id": 0, "name": "GPU" + DECEIVES, "totalGlobalMem": 1 << 34, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
        document = {"schemaVersion": 1, "deviceProperties": [gpu], "traceEvents": events}
        path.write_bytes(json.dumps(document, ensure_ascii=False).encode())

    def test_long_names_are_cut_in_messages(self):
        (self.folder / "long.yaml").write_text("x" * 1_000_000 + ": 1\n")
        words = ["check", "--project", "long.yaml"]
        ended = run(words, self.folder)
        self.check(ended, words)
        self.assertEqual(ended.returncode, 2)
        self.assertLess(len(ended.stderr), 10_000)

    def test_no_end(self):
        """Devices and pipes without a writer are refused at once; pipes that never end, in little memory."""
        fifo = self.folder / "fifo.json"
        os.mkfifo(fifo)
        for name in ("/dev/zero", "/dev/urandom", str(fifo)):
            for words in (["report", name], ["analyze", name], ["matrix", name], ["watch", name, "--dry-run"],
                          ["eval", "score", "exact_match", "--ref", name, "--predictions", name], ["allclose", name, name],
                          ["compare", name, name], ["history", "import", name], ["plan", "--measured-links", name],
                          ["accept", name, "--measure"], ["mllog", name], ["run", "--suite", name], ["mcp", "--config", name],
                          ["load", "compare", name, name], ["history", "list", "--db", name]):
                with self.subTest(input=name, words=words):
                    ended = run(words, self.folder)
                    self.check(ended, words)
                    self.assertIn(ended.returncode, (2, 5), ended)
                    self.assertLess(ended.cpu_s, 10, words)
                    code, most = peak_bytes(words, self.folder)
                    self.assertEqual(code, ended.returncode)
                    self.assertLess(most, 150e6, words)

    def test_pipe_that_never_ends(self):
        fifo = self.folder / "endless.json"
        os.mkfifo(fifo)
        for words in (["report", "endless.json"], ["analyze", "endless.json"], ["mllog", "endless.json"]):
            def write():
                with open(fifo, "wb", buffering=0) as pipe:
                    try:
                        while True:
                            pipe.write(b'"0123456789abcdef' * 4096)
                    except BrokenPipeError:
                        pass
            writer = threading.Thread(target=write)
            writer.start()
            ended = run(words, self.folder)
            writer.join()
            self.check(ended, words)
            self.assertIn(ended.returncode, (2, 5), ended)

    def test_pipe_that_ends(self):
        trace = SOURCE / "examples/traces/resnet18_slow_loading.pt.trace.json.gz"
        ended = subprocess.run(["bash", "-c", f"'{WARPMARK}' analyze <(cat '{trace}')"], cwd=self.folder,
                               capture_output=True, timeout=300, check=False)
        self.assertEqual(ended.returncode, 0, ended)


def mutated(data, draw):
    """Damage of the kinds that happen: cut, changed bytes, doubled parts, and in JSON another type for a value."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if document is not None and draw.random() < 0.7:
        for _ in range(draw.randint(1, 3)):
            change_a_value(document, draw)
        try:
            return json.dumps(document).encode()
        except RecursionError:  # too deep for Python to write: its bytes are changed
            pass
    data = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        if not data:
            break
        at = draw.randrange(len(data))
        kind = draw.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at] = draw.choice(b"\x00\x1b\xff{}[]\",:-0")
        elif kind == 2:
            data[at:at] = data[at:at + draw.randint(1, 200)]
        elif kind == 3:
            del data[at:at + draw.randint(1, 50)]
        else:
            data[at:at] = draw.choice((b"\x1b]0;title\x07", b"\xc2\x9b31m", b"1e999", b"-9223372036854775808", b"[" * 300))
    return bytes(data)


def change_a_value(document, draw):
    places, left = [], [document]
    while left:  # no recursion: newer Pythons read deeper files than they let a function call itself
        value = left.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            places.append((value, key))
            left.append(inner)
    if not places:
        return
    holder, key = draw.choice(places)
    holder[key] = draw.choice((None, True, -1, 5, 1e308, 9223372036854775807, "", "x\x1b[31my", [], {}, [1], {"a": 1},
                               [[[]]], "\u202e", 0.5))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
