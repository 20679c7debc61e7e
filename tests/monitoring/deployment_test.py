"""The systemd unit and the DaemonSet start an exporter with options that there are, and it answers.
usage: deployment_test.py WARPMARK SOURCE"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

WARPMARK, SOURCE = sys.argv[1], sys.argv[2]


def read(name):
    with open(os.path.join(SOURCE, "monitoring", name), encoding="utf-8") as file:
        return file.read()


class Deployment(unittest.TestCase):
    def start(self, words):
        """Starts what a file says, with its folders below a temporary one and a free port; returns the address."""
        folder = self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.makedirs(folder.name + "/etc/warpmark")
        with open(folder.name + "/etc/warpmark/token", "w", encoding="utf-8") as file:
            file.write("0123456789abcdef0123456789abcdef")
        words = [re.sub(r"^/(etc|var)/", folder.name + r"/\1/", word) for word in words]
        self.assertEqual(os.path.basename(words[0]), "warpmark")
        words = ["0" if before == "--port" else word for before, word in zip(["", *words], words)]
        if "--port" not in words:
            words += ["--port", "0"]
        process = subprocess.Popen([WARPMARK, *words[1:]], env=self.environment(), text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        port = re.search(r":(\d+)/", process.stdout.readline()).group(1)
        return f"http://127.0.0.1:{port}/"

    def environment(self):
        return dict(os.environ, HOME=self.folder.name, WARPMARK_DB=self.folder.name + "/results.db")

    def test_a_watch_has_a_heartbeat_until_it_is_ended(self):
        self.check_heartbeat(["warpmark", "exporter"], [])

    def test_a_watch_that_keeps_its_state_beside_the_units_has_a_heartbeat(self):
        words = shlex.split(re.search(r"^ExecStart=(.*)$", read("systemd/warpmark-exporter.service"), re.MULTILINE)[1])
        self.check_heartbeat(words, ["--state", "/var/lib/warpmark/watch-abc.json"])

    def check_heartbeat(self, exporter, options):
        url = self.start(exporter)
        options = [re.sub(r"^/var/", self.folder.name + "/var/", word) for word in options]
        os.makedirs(self.folder.name + "/var/lib/warpmark", exist_ok=True)
        with open(self.folder.name + "/rules.yaml", "w", encoding="utf-8") as file:
            file.write("rules:\n  - {name: Cpus, live: warpmark_host_cpus, below: 1}\n")
        watch = subprocess.Popen([WARPMARK, "watch", self.folder.name + "/rules.yaml", *options], env=self.environment(), text=True,
                                 stdout=subprocess.PIPE)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        beats = r'(?m)^warpmark_watch_timestamp_seconds\{watch="watch-[0-9a-f]+"\} [0-9.e+]+$'
        deadline = time.monotonic() + 60
        while not re.search(beats, urllib.request.urlopen(url + "metrics").read().decode()):
            self.assertLess(time.monotonic(), deadline, "no heartbeat")
            time.sleep(0.1)
        watch.terminate()
        watch.wait()
        self.assertNotRegex(urllib.request.urlopen(url + "metrics").read().decode(), beats)

    def test_the_unit_serves_on_loopback(self):
        words = shlex.split(re.search(r"^ExecStart=(.*)$", read("systemd/warpmark-exporter.service"), re.MULTILINE)[1])
        url = self.start(words)
        self.assertEqual(urllib.request.urlopen(url + "healthz").read(), b"ok\n")
        text = urllib.request.urlopen(url + "metrics").read().decode()
        for name in ("warpmark_build_info{", "warpmark_cpu_seconds_total{", "warpmark_exporter_scrapes_total "):
            self.assertIn(name, text)
        self.assertNotIn("per_second", text, "two that scrape would each see a part of it")

    def test_the_daemon_set_needs_the_token(self):
        text = re.search(r"command: \[(warpmark.*?)\]", read("kubernetes/daemonset.yaml"), re.DOTALL)[1]
        url = self.start([word.strip().strip('"') for word in text.split(",")])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url + "metrics")
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        request = urllib.request.Request(url + "healthz", headers={"Authorization": "Bearer 0123456789abcdef0123456789abcdef"})
        self.assertEqual(urllib.request.urlopen(request).read(), b"ok\n")

    def test_a_request_that_names_another_host_is_refused(self):
        url = self.start(["warpmark", "exporter", "--no-store"])
        request = urllib.request.Request(url + "metrics", headers={"Host": "attacker.example.com"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 421)
        refused.exception.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[3:])
