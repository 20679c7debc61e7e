"""A driver that hangs, loses a GPU and gets it back, played by tests/mock_nvml: what watches goes on, says so, and ends
when it is told to. usage: driver_test.py WARPMARK FOLDER_OF_MOCK_NVML"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

WARPMARK, MOCK_NVML = sys.argv[1], sys.argv[2]
PATIENCE_S = 60  # far above what is needed: only a hang takes longer


class Driver(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.sickness = self.path("nvml")
        self.environment = dict(os.environ, LD_LIBRARY_PATH=MOCK_NVML, WARPMARK_TEST_NVML=self.sickness,
                                WARPMARK_DB=self.path("results.db"), HOME=self.folder.name)
        self.driver_is("well")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def driver_is(self, how):
        with open(self.sickness + ".new", "w", encoding="utf-8") as file:
            file.write(how)
        os.replace(self.sickness + ".new", self.sickness)

    def start(self, *words):
        process = subprocess.Popen([WARPMARK, *words], env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_to_end(self, *words):
        return subprocess.run([WARPMARK, *words], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)

    def exporter(self):
        process = self.start("exporter", "--port", "0", "--no-store")
        url = process.stdout.readline().split()[-1]
        return process, url

    def metrics(self, url):
        with urllib.request.urlopen(url + "metrics", timeout=PATIENCE_S) as answer:
            return answer.read().decode()

    def wait_for(self, what, url):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            text = self.metrics(url)
            if re.search(what, text, re.MULTILINE):
                return text
            time.sleep(0.2)
        self.fail(f"no {what} in\n{text}")

    def end(self, process):
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)
        return time.monotonic() - began

    def test_watch_goes_on_fires_and_ends(self):
        self.driver_is("hang")
        with open(self.path("rules.yaml"), "w", encoding="utf-8") as file:
            file.write("schema: warpmark.alert_rules/1\ninterval: 1s\ngroup_wait: 0s\nrules:\n"
                       "  - {name: HostOnly, live: warpmark_host_cpus, above: 0, for: 3s}\n"
                       "  - {name: GpuSilent, live: DCGM_FI_DEV_GPU_TEMP, no_data: 3s}\n"
                       "  - {name: NoDriver, live: warpmark_gpu_up, below: 1}\n"
                       "  - {name: Typo, live: warpmark_host_cpu, above: 0}\n"
                       "sinks:\n  - {name: f, command: [/bin/sh, -c, 'cat > /dev/null']}\n")
        watch = self.start("watch", self.path("rules.yaml"))
        wanted, text = {"firing HostOnly", "firing GpuSilent", "firing NoDriver", "did you mean warpmark_host_cpus?"}, ""
        deadline = time.monotonic() + PATIENCE_S
        while not all(one in text for one in wanted) and time.monotonic() < deadline:
            text += watch.stdout.readline()
        self.assertTrue(all(one in text for one in wanted), text)
        self.assertLess(self.end(watch), 10)

    def test_monitor_ends_in_time_and_its_summary_says_what_was_lost(self):
        self.driver_is("lost 1")
        done = self.run_to_end("monitor", "--interval", "100ms", "--duration", "500ms", "--summary", "--json",
                               self.path("summary.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(" ".join(done.stdout.split()), r"GPU 1 .* did not answer at \d+ of \d+ samples: GPU is lost")
        with open(self.path("summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["gpus"][1]["lost_polls"], summary["polls"])
        self.assertNotIn("lost_polls", summary["gpus"][0])
        self.driver_is("hang")
        done = self.run_to_end("monitor", "--interval", "100ms", "--duration", "500ms", "--jsonl", "-", "--summary")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no GPU: the driver has not answered for", " ".join(done.stderr.split()))
        self.assertIn("has not answered for", json.loads(done.stdout.splitlines()[-1])["gpu_problem"])

    def test_exporter_serves_on_and_tells_a_driver_that_hangs_and_returns(self):
        process, url = self.exporter()
        self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 1$', url)
        self.driver_is("hang")
        text = self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 0$', url)
        self.assertRegex(text, r'(?m)^warpmark_gpu_up\{gpu="0".*\} 0$')
        self.assertRegex(text, r"(?m)^warpmark_host_cpus \d+$")
        self.assertNotIn("DCGM_FI_DEV_GPU_TEMP{", text)
        self.driver_is("hang 1")
        text = self.wait_for(r'^warpmark_gpu_up\{gpu="0".*\} 1$', url)
        self.assertRegex(text, r'(?m)^warpmark_gpu_up\{gpu="1".*\} 0$')
        self.driver_is("well")
        self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 1$', url)
        self.driver_is("hang")
        self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 0$', url)
        self.assertLess(self.end(process), 10)

    def test_exporter_that_starts_while_the_driver_hangs_tells_so(self):
        self.driver_is("hang")
        _, url = self.exporter()
        self.assertRegex(self.metrics(url), r'(?m)^warpmark_gpu_up\{Hostname="[^"]*"\} 0$')
        self.driver_is("well")
        text = self.wait_for(r'^warpmark_gpu_up\{gpu="0".*\} 1$', url)
        self.assertNotIn("warpmark_gpu_up{Hostname", text)

    def test_a_lost_gpu_is_down_with_its_error_over_a_restart_until_it_is_back(self):
        process, url = self.exporter()
        self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 1$', url)
        self.driver_is("lost 1")
        text = self.wait_for(r'^warpmark_gpu_up\{gpu="1".*\} 0$', url)
        self.assertRegex(text, r'(?m)^warpmark_gpu_error\{gpu="1",.*code="15",error="GPU is lost"\} 1$')
        self.assertNotRegex(text, r'DCGM_[A-Z_]*\{gpu="1"')
        self.assertRegex(text, r'(?m)^DCGM_FI_DEV_CLOCK_THROTTLE_REASONS\{gpu="0"')
        self.end(process)
        self.driver_is("missing 1")
        process, url = self.exporter()
        self.assertRegex(self.metrics(url), r'(?m)^warpmark_gpu_up\{gpu="1",UUID="GPU-22222222".*\} 0$')
        self.driver_is("well")
        self.wait_for(r'^warpmark_gpu_up\{gpu="1",UUID="GPU-22222222".*\} 1$', url)

    def test_errors_and_units_have_the_names_of_dcgm(self):
        _, url = self.exporter()
        for line in ('DCGM_FI_DEV_XID_ERRORS{gpu="0",', 'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="0",',
                     'DCGM_FI_DEV_ROW_REMAP_PENDING{gpu="0",', 'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{gpu="0",',
                     'DCGM_FI_DEV_MEMORY_TEMP{gpu="0",'):
            self.assertIn(line, self.metrics(url))
        text = self.wait_for(r'^DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\{gpu="0",.*\} 0.625$', url)
        self.assertNotIn("DCGM_FI_PROF_PIPE_FP64_ACTIVE{", text)
        self.driver_is("xid 1")
        self.wait_for(r'^warpmark_gpu_xid_errors_total\{gpu="\d",.*xid="79"\} 1$', url)

    def test_the_error_of_a_gpu_that_it_kills_is_told(self):
        _, url = self.exporter()
        self.wait_for(r'^warpmark_gpu_up\{gpu="1",.*\} 1$', url)
        self.driver_is("lost 1\nxid 1")
        self.wait_for(r'^warpmark_gpu_up\{gpu="1",.*\} 0$', url)
        self.wait_for(r'^warpmark_gpu_xid_errors_total\{gpu="\d",.*xid="79"\} 1$', url)

    def test_doctor_comes_to_an_end(self):
        self.driver_is("hang")
        done = self.run_to_end("doctor")
        self.assertIn("has not answered for", " ".join((done.stdout + done.stderr).split()))
        self.assertNotIn("no NVIDIA GPU", done.stdout)

    def test_doctor_waits_once_for_gpus_that_hang_and_names_the_driver(self):
        self.driver_is("hang 0\nhang 1")
        began = time.monotonic()
        done = self.run_to_end("doctor")
        self.assertIn("has not answered for", " ".join((done.stdout + done.stderr).split()))
        self.assertLess(time.monotonic() - began, 35, "the second one was waited for as long as the first")

    def test_doctor_names_a_lost_gpu(self):
        self.driver_is("lost 1")
        self.assertRegex(self.run_to_end("doctor").stdout, r"(?s)GPU 1: answer.*GPU is lost")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[3:])
