"""Limits of the system and peers that misbehave: no verb spins, hangs or is ended by an exception.

Usage: limits_test.py WARPMARK"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

WARPMARK = os.path.abspath(sys.argv[1])
CODES = {0, 1, 2, 3, 4, 5}
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRACE = SOURCE / "examples/traces/resnet18_slow_loading.pt.trace.json.gz"
# One command of each verb, short where it can be.
VERBS = [["--version"], ["doctor"], ["list"], ["history"], ["report"], ["trend"], ["check"], ["analyze", str(TRACE)],
         ["convert", str(TRACE), "--to", "csv"], ["run", "--rounds", "2", "--", "true"],
         ["run", "stream", "--device", "cpu", "--rounds", "1", "--budget", "1s", "--no-ceilings"],
         ["compare", "--rounds", "2", "--", "true", "--", "true"], ["profile", "--", "true"], ["scale", "--ranks", "1", "--", "true"],
         ["monitor", "--once"], ["exporter", "--textfile", "x.prom", "--once"], ["plan"], ["completion", "bash"],
         ["generate", "prompts", "--n", "2"], ["mcp", "--check"], ["watch", str(SOURCE / "examples/watch/results.yaml"), "--once"],
         ["optimize", "--budget", "5s", "--", "true"], ["net", "client", "127.0.0.1", "--port", "1"], ["load", "run"], ["eval", "list"]]


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Limits(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory(prefix="warpmark-limits-")
        self.folder = pathlib.Path(self.kept.name)
        self.folder.chmod(0o777)
        self.environment = {**os.environ, "WARPMARK_DB": str(self.folder / "results.db"), "HOME": str(self.folder),
                            "TMPDIR": str(self.folder), "WARPMARK_NET_TOKEN": "a-token-of-a-test"}
        self.started = []

    def tearDown(self):
        for process in self.started:
            process.kill()
            process.wait()
            process.stdout.close()
        self.kept.cleanup()

    def run_limited(self, limit, words, before=()):
        script = f"{limit}; exec \"$@\""
        return subprocess.run([*before, "bash", "-c", script, "bash", WARPMARK, *words], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)

    def test_without_proc_as_in_a_chroot(self):
        before = ["bwrap", "--bind", "/", "/", "--tmpfs", "/proc", "--dev", "/dev"]
        if shutil.which("bwrap") is None or subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("bubblewrap is not installed or not allowed")
        for words in (["--version"], ["doctor"], ["analyze", str(TRACE)], ["monitor", "--once"], ["list", "devices"],
                      ["exporter", "--textfile", "x.prom", "--once"], ["run", "--rounds", "2", "--", "true"],
                      ["run", "copy", "--set", "size=64KiB", "--device", "cpu", "--rounds", "1", "--budget", "2s", "--no-ceilings"]):
            with self.subTest(words):
                done = self.run_limited("true", words, before)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_more_processes(self):
        other_user = []
        if os.geteuid() == 0:  # whom this limit does not bind
            if shutil.which("setpriv") is None:
                self.skipTest("setpriv is not installed")
            if subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", WARPMARK, "--version"], capture_output=True,
                              check=False).returncode != 0:
                self.skipTest("another user cannot run this build")
            other_user = ["setpriv", "--reuid=65534", "--clear-groups"]
        for words in VERBS:
            with self.subTest(words=words):
                ended = self.run_limited("ulimit -u 1", words, other_user)
                self.assertIn(ended.returncode, CODES, ended)
                self.assertNotIn(b"terminate called", ended.stderr)

    def test_little_memory(self):
        """Verbs that do not compute end, with their result or with an error."""
        for words in VERBS:
            if words[0] in ("run", "optimize", "scale", "profile", "compare") and "stream" in words:
                continue
            with self.subTest(words=words):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                ended = self.run_limited("ulimit -v 300000", words)
                self.assertIn(ended.returncode, CODES, ended)
                self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 60, words)

    def test_small_files(self):
        """A result that the limit of the size of files does not take is an error of its verb, not a signal."""
        for words in (["run", "--rounds", "2", "--", "true"], ["analyze", str(TRACE), "--json", "x.json"],
                      ["convert", str(TRACE), "--to", "chrome", "--out", "x.json"],
                      ["convert", str(TRACE), "--to", "warpmark", "--out", "x.wmrec"],
                      ["convert", str(TRACE), "--to", "sqlite", "--out", "x.sqlite"]):
            with self.subTest(words=words):
                ended = self.run_limited("ulimit -f 1", words)
                self.assertEqual(ended.returncode, 5, ended)
                self.assertEqual([path.name for path in self.folder.glob("x.*")], [])

    def test_too_many_threads(self):
        words = ["run", "copy", "--set", "size=64KiB", "--device", "cpu", "--rounds", "1", "--budget", "1s", "--no-ceilings"]
        ended = self.run_limited("export OMP_NUM_THREADS=99999999", words)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertIn(b"OMP_NUM_THREADS", ended.stderr)

    def serve(self, words, limit="true"):
        process = subprocess.Popen(["bash", "-c", f"{limit}; exec \"$@\"", "bash", WARPMARK, *words], cwd=self.folder,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.started.append(process)
        return process, int(re.search(rb"(?::| port )(\d+)", process.stdout.readline())[1])

    def test_no_more_files(self):
        subprocess.run([WARPMARK, "run", "--rounds", "1", "--", "true"], cwd=self.folder, env=self.environment,
                       capture_output=True, check=True)
        for words in (["exporter", "--port", "0"], ["dashboard", "--port", "0"], ["net", "server", "--port", "0"],
                      ["load", "server", "--port", "0"]):
            with self.subTest(words=words):
                process, port = self.serve(words, "ulimit -n 40")
                clients = []
                for _ in range(60):
                    client = socket.socket()
                    client.setblocking(False)
                    client.connect_ex(("127.0.0.1", port))
                    clients.append(client)
                time.sleep(0.5)
                begin, before = time.monotonic(), cpu_seconds(process.pid)
                time.sleep(2)
                share = (cpu_seconds(process.pid) - before) / (time.monotonic() - begin)
                self.assertLess(share, 0.3, words)
                for client in clients:
                    client.close()
                process.send_signal(signal.SIGTERM)
                process.wait(60)

    def test_many_connections_under_the_usual_limit(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 4096:
            self.skipTest("fewer open files are allowed here at most")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
        subprocess.run([WARPMARK, "run", "--rounds", "1", "--", "true"], cwd=self.folder, env=self.environment,
                       capture_output=True, check=True)
        _, port = self.serve(["dashboard", "--port", "0"], "ulimit -Sn 1024")
        clients = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(1024)]
        for client in clients:
            client.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = [client.recv(64)[:12] for client in clients]
        self.assertEqual(answers.count(b"HTTP/1.1 200"), 1024)
        for client in clients:
            client.close()

    def test_names_of_hosts(self):
        """A page from elsewhere whose name was made to resolve to 127.0.0.1 asks under that name."""
        for words in (["exporter", "--port", "0", "--no-store"], ["dashboard", "--port", "0", "--host", "localhost"]):
            _, port = self.serve(words)
            for hosts, status in (("Host: localhost\r\n", b"200"), ("Host: LocalHost.:80\r\n", b"200"),
                                  ("Host: evil.example\r\n", b"421"), ("Host: localhost.evil.example\r\n", b"421"),
                                  ("Host: .\r\n", b"421"),
                                  ("Host: localhost\r\nHost: evil.example\r\n", b"400")):
                with self.subTest(words=words, hosts=hosts):
                    with socket.create_connection(("localhost", port), 60) as client:
                        client.sendall(f"GET / HTTP/1.1\r\n{hosts}\r\n".encode())
                        self.assertEqual(client.recv(12)[9:12], status)

    def test_closed_streams(self):
        """A number that the caller left free is that of no file of ours: what we print would go into it."""
        log = self.folder / "log.jsonl"
        words = ["monitor", "--duration", "300ms", "--interval", "100ms", "--summary", "--jsonl", "log.jsonl"]
        for closed, code in ((">&-", 5), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 5)):
            with self.subTest(closed=closed):
                log.unlink(missing_ok=True)
                ended = subprocess.run(["bash", "-c", f'"$@" {closed}', "bash", WARPMARK, *words], cwd=self.folder,
                                       env=self.environment, capture_output=True, timeout=300, check=False)
                self.assertEqual(ended.returncode, code, ended)
                for line in log.read_text().splitlines():
                    json.loads(line)

    def test_full_disk(self):
        """/dev/full takes nothing; and what was begun beside a result is gone again."""
        small = self.folder / "small"
        small.mkdir()
        mount = f"mount -t tmpfs -o size=64k none {small} && dd if=/dev/zero of={small}/fill bs=1k count=99 2> /dev/null; "
        if subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {small}"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        for form in ("chrome", "sqlite", "folded", "warpmark"):
            with self.subTest(form=form):
                script = mount + f'"$@"; code=$?; ls {small}; exit $code'
                ended = subprocess.run(["unshare", "-m", "bash", "-c", script, "bash", WARPMARK, "convert", str(TRACE), "--to", form,
                                        "--out", str(small / "out")], env=self.environment, capture_output=True, check=False)
                self.assertEqual(ended.returncode, 5, ended)
                self.assertEqual(ended.stdout, b"fill\n", ended)
                self.assertIn(b"free some disk space", b" ".join(ended.stderr.split()), ended)

    def test_width(self):
        """COLUMNS is heeded where it is a number that makes sense."""
        def lines(columns):
            ended = subprocess.run([WARPMARK, "run", "--help"], env={**self.environment, "COLUMNS": columns}, capture_output=True,
                                   check=True)
            return len(ended.stdout.splitlines())

        self.assertGreater(lines("50"), lines("80"))
        self.assertGreater(lines("80"), lines("160"))
        for odd in ("many", "-5", "1e3", "0", ""):
            self.assertEqual(lines(odd), lines("80"))
        self.assertEqual(lines("1"), lines("40"))
        self.assertEqual(lines("99999999999999999999"), lines("1000"))

    def test_terminated(self):
        """SIGTERM is the same everywhere: services end well, and work that was cut short is interrupted."""
        for words in (["exporter", "--port", "0"], ["dashboard", "--port", "0"], ["net", "server", "--port", "0"],
                      ["load", "server", "--port", "0"]):
            for sent in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                with self.subTest(words=words, sent=sent):
                    process, _ = self.serve(words)
                    process.send_signal(sent)
                    self.assertEqual(process.wait(60), 0)
        for words in (["run", "--rounds", "2", "--no-store", "--", "sleep", "600"], ["profile", "--", "sleep", "600"],
                      ["compare", "--no-store", "--", "sleep", "600", "--", "sleep", "600"],
                      ["optimize", "--no-store", "--", "sleep", "600"], ["scale", "--ranks", "1,2", "--", "sleep", "600"]):
            with self.subTest(words=words):
                process = subprocess.Popen([WARPMARK, *words], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL)
                self.started.append(process)
                time.sleep(1)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 130)


class Peers(unittest.TestCase):
    """A server that never lets its client end."""

    def answer(self, listening, pieces):
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self.feed, args=(client, pieces), daemon=True).start()

    @staticmethod
    def feed(client, pieces):
        try:
            client.recv(65536)
            for piece, pause in pieces():
                client.sendall(piece)
                time.sleep(pause)
        except OSError:
            pass
        client.close()

    def test_deadlines(self):
        def endless_interim():
            while True:
                yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 0

        def dripping():
            yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", 0
            while True:
                yield b" ", 0.2

        def dripping_head():
            while True:
                yield b"H", 0.2

        folder = tempfile.TemporaryDirectory(prefix="warpmark-peers-")
        task = pathlib.Path(folder.name) / "task.yaml"
        (pathlib.Path(folder.name) / "data.jsonl").write_text('{"question": "q", "answer": "a"}\n')
        task.write_text("schema: warpmark.task/1\nname: t\ndata: {file: data.jsonl}\nprompt: '{{question}}'\nanswer: '{{answer}}'\n"
                        "metrics: [exact_match]\n")
        for pieces in (endless_interim, dripping, dripping_head):
            listening = socket.create_server(("127.0.0.1", 0))
            threading.Thread(target=self.answer, args=(listening, pieces), daemon=True).start()
            base = f"http://127.0.0.1:{listening.getsockname()[1]}"
            for words in (["load", "run", "--api-base", base, "--api-model-name", "m", "--num-concurrency", "1",
                           "--max-time-per-run", "1s", "--traffic-scenario", "D(20,10)", "--request-timeout", "2s", "--no-store"],
                          ["eval", "run", str(task), "--endpoint", base, "--model", "m", "--timeout", "2s", "--retries", "0",
                           "--no-store"]):
                with self.subTest(server=pieces.__name__, words=words):
                    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                    begin = time.monotonic()
                    ended = subprocess.run([WARPMARK, *words], cwd=folder.name, capture_output=True, timeout=300, check=False)
                    self.assertLess(time.monotonic() - begin, 30, "the deadline is 2 s")
                    self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 10, "it spins")
                    self.assertEqual(ended.returncode, 5, ended)
            listening.close()
        folder.cleanup()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
