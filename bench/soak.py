"""Services next to each other under load, for hours: does memory grow, or the number of open files?

    python3 bench/soak.py --warpmark build/release/warpmark --minutes 120 [--json soak.json]

Starts `dashboard`, `exporter`, `load server` and `watch` over one database, and clients that ask each of them all the time;
some end in the middle of a request. Every 10 s it notes resident memory and open files of each. The slope is that of a
straight line through the least memory of every two minutes of the second half, with its standard error; the first half warms up
caches. Exit code 1 where a service ended, or the memory of one grows by more than --limit KiB a minute beyond twice the standard
error."""

import argparse
import json
import math
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

PATHS = ("/", "/api/sessions", "/api/runs", "/api/cases", "/api/changes", "/api/fleet", "/api/documents", "/metrics", "/nothing",
         "/api/run?session=last&index=0")


class Service:
    def __init__(self, name, words, environment, folder, listens=True):
        self.name = name
        self.log = open(folder / f"{name}.log", "wb")
        self.process = subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE if listens else self.log,
                                        stderr=self.log)
        self.port = int(re.search(rb":(\d+)", self.process.stdout.readline())[1]) if listens else 0
        self.samples = []
        self.answers = 0

    def sample(self, seconds):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        self.samples.append((seconds, resident, len(os.listdir(f"/proc/{self.process.pid}/fd"))))


def ask(service, stop, seed):
    """Requests of all kinds, some cut short, over new connections and kept ones."""
    draw = random.Random(seed)
    while not stop.is_set():
        try:
            with socket.create_connection(("127.0.0.1", service.port), 10) as client:
                client.settimeout(10)
                for _ in range(draw.choice((1, 1, 3, 20))):
                    if service.name == "load_server":
                        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x " * draw.randint(1, 200)}],
                                           "max_tokens": 16, "stream": draw.random() < 0.5})
                        text = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                f"Content-Length: {len(body)}\r\n\r\n{body}")
                    else:
                        text = f"GET {draw.choice(PATHS)} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    if draw.random() < 0.05:
                        client.sendall(text[:draw.randrange(len(text))].encode())
                        break
                    client.sendall(text.encode())
                    if not client.recv(65536):
                        break
                    service.answers += 1
        except OSError:
            pass
        time.sleep(draw.uniform(0, 0.1))


def floors(samples):
    """The least memory of every two minutes: what was given back in between comes and goes."""
    least = {}
    for seconds, resident, _ in samples:
        window = int(seconds // 120)
        least[window] = min(least.get(window, resident), resident)
    return [(2 * window + 1, resident) for window, resident in sorted(least.items())]


def slope(samples):
    """KiB a minute, and its standard error."""
    least = floors(samples)
    late = least[len(least) // 2:]
    if len(late) < 3:
        return 0.0, math.inf
    xs, ys = [s[0] for s in late], [s[1] for s in late]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    gradient = sum((a - x) * (b - y) for a, b in zip(xs, ys)) / spread
    residue = sum((b - y - gradient * (a - x)) ** 2 for a, b in zip(xs, ys)) / (len(late) - 2)
    return gradient, math.sqrt(residue / spread)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpmark", required=True)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--limit", type=float, default=5, help="KiB a minute")
    parser.add_argument("--json")
    options = parser.parse_args()
    warpmark = os.path.abspath(options.warpmark)
    with tempfile.TemporaryDirectory(prefix="warpmark-soak-") as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "WARPMARK_DB": str(folder / "results.db"), "HOME": name, "TMPDIR": name}
        for _ in range(3):
            subprocess.run([warpmark, "run", "--rounds", "3", "--", "true"], env=environment, cwd=name, capture_output=True,
                           check=True)
        rules = folder / "rules.yaml"
        rules.write_text("schema: warpmark.alert_rules/1\ninterval: 5s\ngroup_by: [rule]\nrules:\n"
                         "  - {name: Slower, history: '*', change: worse, threshold: 5%, summary: slower}\n"
                         "sinks:\n  - {name: chat, command: ['true']}\n")
        services = [Service("dashboard", [warpmark, "dashboard", "--port", "0"], environment, folder),
                    Service("exporter", [warpmark, "exporter", "--port", "0"], environment, folder),
                    Service("load_server", [warpmark, "load", "server", "--port", "0", "--ttft", "1ms", "--itl", "1ms"],
                            environment, folder),
                    Service("watch", [warpmark, "watch", str(rules)], environment, folder, listens=False)]
        stop = threading.Event()
        clients = [threading.Thread(target=ask, args=(service, stop, seed), daemon=True)
                   for service in services if service.port for seed in range(2)]
        for client in clients:
            client.start()
        begin = time.monotonic()
        while time.monotonic() - begin < options.minutes * 60 and all(s.process.poll() is None for s in services):
            for service in services:
                service.sample(time.monotonic() - begin)
            time.sleep(10)
        stop.set()
        report(services, begin, options)
        failed = any(s.process.poll() is not None for s in services) or any(
            grows - 2 * error > options.limit for grows, error in (slope(s.samples) for s in services))
        for service in services:
            service.process.send_signal(signal.SIGTERM)
            if service.process.wait(60) != 0:
                failed = True
        return 1 if failed else 0


def report(services, begin, options):
    minutes = (time.monotonic() - begin) / 60
    print(f"{minutes:.1f} minutes")
    print("| service | answers | resident at begin, KiB | at end | growth, KiB/min (second half) | open files, begin | most | end |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for service in services:
        grows, error = slope(service.samples)
        files = [sample[2] for sample in service.samples]
        print(f"| `{service.name}` | {service.answers} | {service.samples[0][1]} | {service.samples[-1][1]} | "
              f"{grows:.2f} ± {error:.2f} | {files[0]} | {max(files)} | {files[-1]} |")
        rows.append({"service": service.name, "answers": service.answers, "samples": service.samples,
                     "growth_kib_per_minute": grows, "standard_error": error, "ended": service.process.poll()})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"minutes": minutes, "services": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
