"""The wheel in a virtual environment of its own, without an index. Usage: python_test.py BUILD SOURCE [UNITTEST ARGUMENTS]"""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from run_program import run  # noqa: E402

BUILD, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2)) if __name__ == "__main__" else (None, None)
TRACE = "examples/traces/resnet18_slow_loading.pt.trace.json.gz"
SKIPPED = 77


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="warpmark wheel ")
        cls.path = pathlib.Path(cls.folder.name)
        run(SOURCE / "cmake/make_dist.sh", "--wheel", BUILD, cls.path)
        cls.wheel = next(cls.path.glob("*.whl"))
        cls.environment = {"PATH": "/usr/bin:/bin", "HOME": str(cls.path), "LC_ALL": "C.UTF-8",
                           "WARPMARK_DB": str(cls.path / "test.db")}
        run(sys.executable, "-m", "venv", cls.path / "venv", env=cls.environment)
        cls.python = cls.path / "venv/bin/python"
        run(cls.python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", cls.wheel,
            env=cls.environment)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def say(self, text, **environment):
        return run(self.python, "-c", "import warpmark\n" + text, cwd=self.path,
                   env={**self.environment, "TRACE": str(SOURCE / TRACE), **environment})

    def test_the_wheel_is_as_the_specification_says(self):
        self.assertRegex(self.wheel.name, r"^warpmark-\d+\.\d+\.\d+-py3-none-manylinux_2_34_(x86_64|aarch64)\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            info = next(name for name in names if name.endswith(".dist-info/RECORD")).split("/")[0]
            rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))}
            self.assertEqual(sorted(rows), sorted(names))
            for name in names:
                if name == f"{info}/RECORD":
                    continue
                data = wheel.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual(rows[name], [f"sha256={digest}", str(len(data))])
            tag = re.search(r"-(py3-.*)\.whl", self.wheel.name)[1]
            self.assertIn(f"Tag: {tag}\n", wheel.read(f"{info}/WHEEL").decode())
            self.assertIn("warpmark/py.typed", names)
            modes = {entry.filename: entry.external_attr >> 16 for entry in wheel.infolist()}
            self.assertTrue(modes["warpmark/_program/bin/warpmark"] & 0o111)
            self.assertFalse(modes["warpmark/__init__.py"] & 0o111)

    def test_the_command_is_on_the_path_and_is_the_same_program(self):
        command = self.path / "venv/bin/warpmark"
        self.assertEqual(run(command, "--version", env=self.environment), run(BUILD / "warpmark", "--version"))
        self.assertEqual(run(self.python, "-m", "warpmark", "--version", env=self.environment),
                         run(BUILD / "warpmark", "--version"))
        refused = subprocess.run([str(command), "nothing"], capture_output=True, text=True, env=self.environment)
        self.assertEqual(refused.returncode, 2)
        libraries = run("ldd", self.path / next(self.path.glob("venv/lib/python*/site-packages/warpmark/_program/bin/warpmark")),
                        env=self.environment)
        self.assertRegex(libraries, r"libfmt\S* => \S*.*_program/bin/\.\./lib/libfmt")

    def test_analyze_and_query(self):
        said = self.say("""
import os
found = warpmark.analyze(os.environ["TRACE"])
print(found.findings[0].rule, found.findings[0].gain.low > 1, round(sum(part.share for part in found.breakdown), 6))
print(found.data["schema"], found.exit_code, found.step_ms > 80)
assert str(found) == repr(found) == found.text and "Where the time" in found.text
page = found._repr_html_()
assert page.startswith("<iframe srcdoc=") and "&lt;h1" in page
rows = warpmark.query("SELECT count(*) AS n FROM sqlite_master", os.environ["TRACE"])
print(rows[0]["n"] > 3)
""")
        self.assertEqual(said.splitlines(), ["data_loading True 1.0", "warpmark.analysis/1 0 True", "True"])

    def test_run_and_compare(self):
        said = self.say("""
import sys
quick = [sys.executable, "-c", "pass"]
measured = warpmark.run(command=quick, rounds=2)
print(measured.results[0].workload, measured.results[0].metrics[0].id, measured.results[0].metrics[0].median > 0)
compared = warpmark.compare(quick, quick, rounds=2, effect=0.5)
print(compared.verdict in ("same", "inconclusive", "better", "worse", "unreliable"), compared.metrics[0].id)
sized = warpmark.run("copy", device="cpu", set={"size": "64KiB"}, rounds=1, budget="2s", store=False, options=["--no-ceilings"])
print(sized.results[0].params["size"])
""")
        self.assertEqual(said.splitlines(), ["command time True", "True time", "65536"])

    def test_a_callable_is_timed_and_compared(self):
        said = self.say("""
import time
slow = warpmark.measure(time.sleep, 0.004, budget_s=0.2)
fast = warpmark.measure(time.sleep, 0.001, budget_s=0.2)
print(fast.better_than(slow, 0.05), slow.better_than(fast), slow.worse_than(fast), fast.better_than(fast, 0.05))
print(0.001 <= fast.median, fast.interval.low <= fast.median <= fast.interval.high, fast.name)
print(warpmark.measure(len, "abc", budget_s=0.05).value, warpmark.measure(len, "abc", budget_s=0.05).calls_per_sample > 1)
print(warpmark.Timing("few", [1.0] * 5).interval, warpmark.Timing("six", [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]).interval.low)
""")
        self.assertEqual(said.splitlines(), ["True False True False", "True True sleep", "3 True", "None 1.0"])

    def test_the_pytest_fixture(self):
        site = next(self.path.glob("venv/lib/python*/site-packages"))
        tests = self.path / "timed_test.py"
        tests.write_text("import time\n"
                         "def test_faster(warpmark):\n"
                         "    result, baseline = warpmark(time.sleep, 0.001), warpmark(time.sleep, 0.003)\n"
                         "    assert result.better_than(baseline, 0.05)\n"
                         "def test_other():\n    pass\n")

        def pytest(*options):  # which finds the fixture by the wheel's entry point
            done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:benchmark", tests,
                                   *options], capture_output=True, text=True, cwd=self.path,
                                  env={**self.environment, "PYTHONPATH": str(site)})
            return done.stdout + done.stderr

        if "No module named pytest" in subprocess.run(["/usr/bin/python3", "-m", "pytest", "--version"], capture_output=True,
                                                      text=True).stderr:
            self.skipTest("python3-pytest is not installed")
        self.assertIn("2 passed", pytest("--benchmark-max-time=0.2"))
        self.assertIn("2 passed", pytest("--benchmark-disable"))
        self.assertIn("1 passed, 1 skipped", pytest("--benchmark-skip"))
        self.assertIn("1 passed, 1 skipped", pytest("--benchmark-only", "--benchmark-max-time=0.2"))
        said = pytest("--benchmark-max-time=0.2", "--benchmark-warmup", "--benchmark-disable-gc", "--benchmark-autosave",
                      "--benchmark-sort=name", "--benchmark-json=timed.json")
        self.assertIn("2 passed", said)
        self.assertIn("--benchmark-sort is an option of pytest-benchmark", said)
        stored = json.loads((self.path / "timed.json").read_text())["benchmarks"]
        self.assertEqual([one["name"] for one in stored], ["test_faster[sleep]", "test_faster[sleep]#2"])
        self.assertGreater(stored[1]["stats"]["median"], stored[0]["stats"]["median"])
        imported = run(self.path / "venv/bin/warpmark", "history", "import", "timed.json", cwd=self.path, env=self.environment)
        self.assertIn("2 results", imported)
        refused = pytest("--benchmark-json=no/such/folder/timed.json")
        self.assertIn("cannot write --benchmark-json", refused)
        self.assertNotIn("Traceback", refused)

    def test_the_pytest_fixture_beside_pytest_benchmark(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import pytest_benchmark"], capture_output=True).returncode != 0:
            self.skipTest("python3-pytest-benchmark is not installed")
        site = next(self.path.glob("venv/lib/python*/site-packages"))
        tests = self.path / "both_test.py"
        tests.write_text("def test_ours(warpmark):\n    assert warpmark(sorted, [2, 1]).median > 0\n"
                         "def test_theirs(benchmark):\n    benchmark(sorted, [2, 1])\n")
        for order in ([], ["-p", "warpmark"]):  # loaded by its entry point, and before pytest-benchmark
            said = run("/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", *order, tests, "--benchmark-json=both.json",
                       "--benchmark-max-time=0.1", cwd=self.path, env={**self.environment, "PYTHONPATH": str(site)})
            self.assertIn("2 passed", said)
            stored = json.loads((self.path / "both.json").read_text())["benchmarks"]
            self.assertEqual([one["name"] for one in stored], ["test_theirs"], "the file is pytest-benchmark's")

    def test_the_other_verbs(self):
        said = self.say("""
import sys
quick = [sys.executable, "-c", "pass"]
for _ in range(2):
    warpmark.run(command=quick, rounds=2, options=["--name=twice"])
ids = [session["id"] for session in warpmark.history().data["sessions"]]
print(warpmark.compare_runs(ids[1], ids[0], effect=0.5).data["schema"], warpmark.history("show", "last").data["schema"])
print(warpmark.doctor().data["schema"], warpmark.trend().data["schema"])
""")
        self.assertEqual(said.splitlines(), ["warpmark.compare/1 warpmark.results/1", "warpmark.doctor/1 warpmark.trend/1"])

    def test_verbs_that_measure_have_answers(self):
        said = self.say("""
import pathlib, sys
quick = [sys.executable, "-c", "pass"]
pathlib.Path("ref.jsonl").write_text('{"id":1,"answer":"x"}\\n{"id":2,"answer":"y"}\\n')
pathlib.Path("out.jsonl").write_text('{"id":1,"output":"x"}\\n{"id":2,"output":"z"}\\n')
scores = warpmark.eval("score", "exact_match", "--ref", "ref.jsonl", "--predictions", "out.jsonl", "--no-store")
print(scores.data["scores"][0]["value"], scores.exit_code)
checked = warpmark.check(quick)
print(checked.data["schema"], checked.exit_code)
pathlib.Path("matrix.yaml").write_text(
    "schema: warpmark.matrix-file/1\\ncommand:\\n  run: [" + sys.executable + ", -c, pass, '{size}']\\naxes: {size: [1, 2]}\\nbaseline: {size: 1}\\n")
print(warpmark.matrix("matrix.yaml", "--rounds=2", "--no-store").data["schema"])
validated = warpmark.validate("--rounds=2", "--no-store", "--", *quick, "--", *quick)
print(len(validated.data) > 0, validated.exit_code in (0, 1, 3, 5))
print(warpmark.scale(quick, options=["--ranks=1,2", "--rounds=2", "--no-store"]).data["schema"])
""")
        self.assertEqual(said.splitlines(), ["0.5 0", "warpmark.check/1 3", "warpmark.matrix/1", "True True", "warpmark.scaling/1"])

    def test_load_asks_a_server(self):
        said = self.say("""
import subprocess, warpmark._program
server = subprocess.Popen([warpmark._program.executable(), "load", "server", "--port=0"], stdout=subprocess.PIPE, text=True)
try:
    url = next(word.strip(",.;") for line in server.stdout for word in line.split() if word.startswith("http://"))
    answer = warpmark.load(f"--api-base={url}", "--model=reference", "--num-concurrency=1", "--max-requests-per-run=3",
                           "--traffic-scenario=D(10,5)", "--no-calibrate", "--no-store")
    print(answer.data["schema"])
finally:
    server.terminate()
    server.wait()
""")
        self.assertEqual(said.splitlines(), ["warpmark.load/1"])

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_collective_measures_two_ranks(self):
        said = self.say("""
print(warpmark.collective("all_reduce", options=["--ranks=2", "--oversubscribe", "-b", "1K", "-e", "1K", "--no-store"]).data["schema"])
""")
        self.assertEqual(said.splitlines(), ["warpmark.collective/1"])

    def test_errors_name_the_cause(self):
        for text, cause in [
            ("warpmark.analyze('missing.json')", "missing.json"), ("warpmark.run('gemmm')", "gemm"),
            ("warpmark.compare('a b', ['b'])", "list of words"), ("warpmark.analyze()", "profile"),
            ("warpmark.optimize(['/no/such/program'])", "/no/such/program"), ("warpmark.run('--plugin=x')", "no workload"),
            ("warpmark.query('SELECT nothing', __import__('os').environ['TRACE'])", "nothing"),
        ]:
            with self.subTest(text):
                said = self.say(f"try:\n    {text}\nexcept Exception as error:\n    print(type(error).__name__, error)")
                self.assertIn(cause, said)

    def test_recording_needs_a_driver_and_says_so(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU")
        said = self.say("try:\n    with warpmark.record(): pass\nexcept warpmark.WarpmarkError as error:\n    print(error)")
        self.assertRegex(said, "NVIDIA driver|not part of this installation")

    def test_parts_of_a_program_are_recorded_one_after_the_other(self):
        cupti = BUILD / "mock_cupti/libmock_cupti.so"
        if not cupti.exists() or not (BUILD / "libwarpmark_inject.so").exists():
            self.skipTest("the recorder was not built")
        said = self.say("""
import ctypes, os, time
from mock_cupti import works
for part in (1, 2):
    with warpmark.record(f"part{part}.wmrec", cupti=os.environ["MOCK_CUPTI"]) as recording:
        try:
            with warpmark.record(cupti=os.environ["MOCK_CUPTI"]): pass
        except warpmark.WarpmarkError as error:
            print("nested" in str(error))
        works(os.environ["MOCK_CUPTI"], 3 * part)
    rows = warpmark.query("SELECT count(*) AS n FROM kernels", recording.path)
    print(rows[0]["n"], recording.analysis.data["schema"])
""", MOCK_CUPTI=str(cupti), PYTHONPATH=str(pathlib.Path(__file__).parent))
        self.assertEqual(said.splitlines(), ["True", "3 warpmark.analysis/1", "True", "6 warpmark.analysis/1"])


if __name__ == "__main__":
    try:
        import ensurepip  # noqa: F401  Debian has it in a package of its own
    except ImportError:
        print("python3-venv is not installed")
        sys.exit(SKIPPED)
    unittest.main()
