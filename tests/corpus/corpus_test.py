"""Tests of corpus/: its manifest and files agree, and what the recorder does without a GPU."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(SOURCE, "corpus")
sys.dont_write_bytecode = True
sys.path.insert(0, CORPUS)

import record  # noqa: E402
from shared import catalog, recorders  # noqa: E402


class Corpus(unittest.TestCase):
    def test_manifest_and_files_agree(self):
        self.assertEqual(catalog.faults(), [])

    def test_has_each_cause_in_each_framework_that_shows_it(self):
        programs = catalog.read()["programs"]
        self.assertGreaterEqual(len(programs), 140)
        causes = {(p["framework"], p["gpus"], p["cause"]) for p in programs}
        one_gpu = {"attention", "cpu_gpu_sync", "data_loading", "gpu_underused", "host_transfer", "launch_overhead",
                   "memory_allocation", "memory_bandwidth", "optimizer", "precision", "none"}
        for framework in ("pytorch", "jax", "cuda"):
            self.assertEqual({c for f, gpus, c in causes if f == framework and gpus == 1}, one_gpu, framework)
        self.assertLessEqual({"multi_gpu_comm", "load_imbalance", "none"}, {c for _, gpus, c in causes if gpus == 2})

    def test_check_passes_from_the_command_line_without_importing_a_framework(self):
        done = subprocess.run([sys.executable, "-X", "importtime", "-B", os.path.join(CORPUS, "record.py"), "--check"],
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
        self.assertFalse(imported & {"torch", "jax", "cupy", "triton", "numpy"})

    def test_profiles_kept_for_tests_have_their_programs(self):
        names = {p["name"] for p in catalog.read()["programs"]}
        for folder in ("traces", "programs"):
            with open(os.path.join(SOURCE, "tests", "data", folder, "labels.json"), encoding="utf-8") as file:
                self.assertEqual([label["name"] for label in json.load(file) if label["name"] not in names], [])


class Faults(unittest.TestCase):
    """Each thing that can be wrong is told, in a copy of the corpus."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.corpus = os.path.join(self.folder.name, "a corpus")
        shutil.copytree(CORPUS, self.corpus, ignore=shutil.ignore_patterns("__pycache__"))
        self.manifest = catalog.read(self.corpus)
        self.entry = next(p for p in self.manifest["programs"] if p["name"] == "wide_mlp_float64")

    def told(self):
        with open(os.path.join(self.corpus, "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(self.manifest, file, indent=0)  # one field a line: fewer lines than allowed all the same
        return [fault for fault in catalog.faults(self.corpus) if "lines in all" not in fault]

    def append(self, path, text):
        with open(os.path.join(self.corpus, path), "a", encoding="utf-8") as file:
            file.write(text)

    def test_a_file_that_is_gone_is_told(self):
        os.remove(os.path.join(self.corpus, self.entry["file"]))
        self.assertEqual(self.told(), [f"{self.entry['file']}: no such file"])

    def test_a_file_that_nobody_lists_is_told(self):
        self.append("pytorch/precision/another.py", "program = None\n")
        self.assertEqual(self.told(), ["pytorch/precision/another.py: not in manifest.json"])

    def test_a_program_that_does_not_compile_is_told(self):
        self.append(self.entry["file"], "def\n")
        self.assertIn("does not compile", self.told()[0])

    def test_an_import_of_what_is_not_shared_is_told(self):
        self.append(self.entry["file"], "from shared.steps import nothing_of_this_name\n")
        self.assertIn("imports nothing_of_this_name", self.told()[0])

    def test_an_unknown_field_or_a_wrong_type_is_told(self):
        self.entry["measured_gains"] = 1.5
        self.assertIn("measured_gains is unknown", self.told()[0])
        del self.entry["measured_gains"]
        self.entry["gpus"] = "two"
        self.assertIn("gpus is 'two'", self.told()[0])

    def test_a_healthy_program_with_a_gain_is_told(self):
        healthy = next(p for p in self.manifest["programs"] if p["cause"] == "none")
        healthy["measured_gain"] = 1.5
        self.assertEqual(self.told(), [f"{healthy['name']}: healthy, and yet has a measured_gain"])

    def test_a_cause_that_is_not_accepted_is_told(self):
        self.entry["accept"] = ["attention"]
        self.assertIn("not among what is accepted", self.told()[0])

    def test_a_cause_without_a_rule_is_told(self):
        os.makedirs(os.path.join(self.folder.name, "src", "analyze", "rules"))
        self.assertIn("cause precision: no rule has this id", self.told())

    def test_too_many_lines_are_told(self):
        self.append("README.md", "\n" * catalog.MOST_LINES)
        self.assertIn("lines in all", " ".join(catalog.faults(self.corpus)))


class Choosing(unittest.TestCase):
    def test_conditions_narrow_together(self):
        programs = catalog.read()["programs"]
        some = catalog.chosen(programs, cause=["attention"], framework=["cuda", "jax"], gpus=1)
        self.assertGreaterEqual(len(some), 4)
        self.assertTrue(all(p["cause"] == "attention" and p["framework"] in ("cuda", "jax") for p in some))
        self.assertEqual(catalog.chosen(programs, cause=["attention"], framework=["cuda"], gpus=2), [])
        self.assertEqual([p["name"] for p in catalog.chosen(programs, only="^wide_mlp_float")], ["wide_mlp_float64"])


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.settings = types.SimpleNamespace(out=self.folder.name, deadline=1e9, again=False, time_only=False, limit=60)

    def result(self, **more):
        return {"flawed_ms": [4.0, 6.0, 5.0], "cured_ms": [2.0, 2.5, 3.0], "gpu": "a GPU", "per_work": False,
                "files": ["x.pt.trace.json.gz"]} | more

    def test_a_label_is_what_score_analysis_reads(self):
        program = catalog.named("wide_mlp_float64")
        label = recorders.label_of(program, self.result())
        self.assertEqual(label["measured_speedup"], 2.0)
        self.assertEqual((label["injected"], label["accept"]), ("precision", ["precision"]))
        self.assertLessEqual({"name", "files", "fix"}, set(label))
        with open(os.path.join(self.folder.name, "labels.json"), "w", encoding="utf-8") as file:
            json.dump([label], file)
        sys.path.insert(0, os.path.join(SOURCE, "bench"))
        import score_analysis
        self.assertEqual(score_analysis.labels_of(self.folder.name, None)[0]["measured_speedup"], 2.0)

    def test_a_larger_batch_gains_a_sample_and_not_a_step(self):
        program = catalog.named("convnext_graph_batch1")
        self.assertEqual(recorders.label_of(program, self.result())["measured_speedup"], 2.0 * 128)
        timed_apart = recorders.label_of(program, self.result(per_work=True))
        self.assertEqual((timed_apart["measured_speedup"], timed_apart["speedup_per"]), (2.0, "sample"))

    def test_a_healthy_program_has_no_gain(self):
        label = recorders.label_of(catalog.named("wide_mlp_healthy"), self.result(cured_ms=None))
        self.assertEqual((label["injected"], label["measured_speedup"]), ("none", None))

    def test_what_is_recorded_is_not_recorded_again(self):
        program = catalog.named("wide_mlp_float64")
        recording = record.Recording(self.settings)
        self.assertFalse(recording.has(program))
        recording.keep(recorders.label_of(program, self.result()), {"name": program["name"], "seconds": 1})
        self.assertFalse(record.Recording(self.settings).has(program))  # its profile is not there
        with open(os.path.join(self.folder.name, "x.pt.trace.json.gz"), "wb"):
            pass
        self.assertTrue(record.Recording(self.settings).has(program))
        self.settings.again = True
        self.assertFalse(record.Recording(self.settings).has(program))

    def test_a_program_that_fails_does_not_stop_the_rest(self):
        programs = [catalog.named(name) for name in ("wide_mlp_float64", "nbody_cluster")]
        self.settings.devices, self.settings.per_gpu, self.settings.recorder = "0", 1, "auto"
        self.settings.rounds, self.settings.seconds, self.settings.blocks, self.settings.limit = 1, 1, 1, 0.01
        self.assertEqual(record.Recording(self.settings).record(programs), 1)
        with open(os.path.join(self.folder.name, "details.json"), encoding="utf-8") as file:
            errors = {each["name"]: each["error"] for each in json.load(file)}
        self.assertEqual(set(errors), {"wide_mlp_float64", "nbody_cluster"})
        self.assertIn("longer than", errors["nbody_cluster"])

    def test_what_is_ended_early_is_ended_with_its_children(self):
        lane, failures = recorders.Lane(types.SimpleNamespace(limit=300), ["0"]), []
        file = os.path.join(self.folder.name, "child")
        starts_a_child = ("import os, subprocess, sys, time; child = subprocess.Popen(['sleep', '600']); "
                          f"open({file!r} + '.part', 'w').write(str(child.pid)); "
                          f"os.rename({file!r} + '.part', {file!r}); time.sleep(600)")

        def run():
            try:
                lane.run([sys.executable, "-c", starts_a_child])
            except recorders.Failed as failure:
                failures.append(failure)
        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(waited_for(lambda: os.path.exists(file)))
        with open(file, encoding="utf-8") as stream:
            child = int(stream.read())
        recorders.end_all()
        thread.join(60)
        self.assertEqual(len(failures), 1)
        self.assertTrue(waited_for(lambda: not alive(child)))


class Scores(unittest.TestCase):
    def printed(self, *arguments):
        table = os.path.join(SOURCE, "docs", "results", "analysis-2026-11-21.csv")
        done = subprocess.run([sys.executable, "-B", os.path.join(CORPUS, "scores.py"), table, *arguments],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_page_says_what_the_table_says(self):
        with open(os.path.join(SOURCE, "docs", "results", "analysis.md"), encoding="utf-8") as file:
            page = file.read()
        counts = re.compile(r"\d+ of \d+")
        for since in ("seventeenth", "sixth"):
            for count in counts.findall(self.printed("--since", since).splitlines()[-1]):
                self.assertIn(count, page)
        for line in self.printed("--since", "sixth", "--by", "cause").splitlines()[1:-1]:
            found = counts.findall(line)
            if len(found) == 2:
                self.assertIn(f"| {line.split()[0]} | {found[0]} | {found[1]} |", page)

    def test_a_share_has_the_interval_of_wilson(self):
        import scores
        low, high = scores.wilson(8, 10)  # 0.4902 and 0.9433: Wilson's interval as textbooks have it
        self.assertAlmostEqual(low, 0.4902, places=4)
        self.assertAlmostEqual(high, 0.9433, places=4)
        self.assertEqual(round(scores.wilson(10, 10)[1], 9), 1.0)

    def test_an_unknown_set_is_told(self):
        table = os.path.join(SOURCE, "docs", "results", "analysis-2026-11-21.csv")
        done = subprocess.run([sys.executable, "-B", os.path.join(CORPUS, "scores.py"), table, "--since", "hundredth"],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no set hundredth", done.stderr)


def waited_for(condition, seconds=60):
    deadline = time.time() + seconds
    while not condition() and time.time() < deadline:
        time.sleep(0.05)
    return condition()


def alive(process):
    """Neither gone nor a zombie that nobody has waited for."""
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


if __name__ == "__main__":
    unittest.main()
