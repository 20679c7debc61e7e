#!/usr/bin/env python3
"""Half of the highest rate for half an hour: does memory, do sockets, do errors or latencies grow?

    python3 bench/serving_soak.py build/release/warpmark [MINUTES [TOKENS [SHARE]]]

`load run` against `load server` on this machine. The number of users is doubled until the events a second grow by less than a
tenth; half of the most (SHARE, 0.5) are then sent at a constant rate. Resident memory, open files and sockets of both processes
are read every 10 s. The client writes what it measured of each request into a file, so that its memory should not grow with the
number of requests: what it grows by is told as bytes a request, in each quarter of the time, and beside it the most that it ever
had, when the numbers are computed at the end."""
import csv, json, os, re, subprocess, sys, tempfile, time

warpmark = sys.argv[1]
minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 30
tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 50
share = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
folder = tempfile.mkdtemp(prefix="soak")
pace = ["--ttft", "50ms", "--itl", "10ms"]


def server(*options):
    process = subprocess.Popen([warpmark, "load", "server", "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    return process, re.search(r"http://\S+?:\d+", process.stdout.readline()).group()


def load(url, *options):
    return [warpmark, "load", "run", "--api-base", url, "--api-model-name", "m", "--traffic-scenario", "D(20,%d)" % tokens,
            "--no-store", "--json", folder + "/load.json", *options]


def scenario():
    with open(folder + "/load.json") as file:
        return json.load(file)["scenarios"][0]


def status(pid, name):
    with open("/proc/%d/status" % pid) as file:
        found = re.search(name + r":\s+(\d+)", file.read())
    return int(found.group(1)) / 1024 if found else None  # MiB; of a process that has just ended there is none


def look(pid):
    resident = status(pid, "VmRSS")
    files = os.listdir("/proc/%d/fd" % pid)
    sockets = 0
    for name in files:
        try:
            sockets += os.readlink("/proc/%d/fd/%s" % (pid, name)).startswith("socket:")
        except OSError:
            pass  # closed meanwhile
    return resident, len(files), sockets


def highest():
    process, url = server(*pace)
    found, users = 0, 125
    try:
        while users <= 4000:
            subprocess.run(load(url, "--num-concurrency", str(users), "--max-time-per-run", "8s"), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            rate = scenario()["metrics"]["output_throughput"]["mean"]
            print("%d users: %.0f events/s" % (users, rate), flush=True)
            if rate < 1.1 * found:
                return max(rate, found)
            found, users = rate, 2 * users
    finally:
        process.terminate()
        process.wait()
    return found


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(p * len(values)))] if values else float("nan")


most = highest()
rate = most * share / tokens
print("highest: %.0f events/s; soak: %.1f requests/s of %d tokens, %.0f events/s, %.0f minutes" % (most, rate, tokens, most * share, minutes), flush=True)
process, url = server(*pace, "--duration", "%ds" % (minutes * 60 + 120))
client = subprocess.Popen(load(url, "--request-rate", "%.3f" % rate, "--arrivals", "constant", "--max-in-flight", "8000", "--max-time-per-run", "%ds" % (minutes * 60),
                               "--requests-csv", folder + "/requests.csv"), stdout=subprocess.PIPE, text=True)
began, looks = time.monotonic(), []
pause = 10 if minutes > 5 else 2
while client.poll() is None and time.monotonic() - began < minutes * 60 - pause:
    time.sleep(pause)
    if client.poll() is None:
        looks.append((time.monotonic() - began, *look(client.pid), *look(process.pid)))
most_resident = 0
while client.poll() is None:
    most_resident = status(client.pid, "VmHWM") or most_resident
    time.sleep(0.05)
process.terminate()
process.wait()
result = scenario()
looks = [l for l in looks if l[0] > min(30, 10 * minutes)]  # connections are made, prompts are there
print("time      client MiB  bytes/request  files  sockets   server MiB  files  sockets")
for quarter in range(4):
    part = looks[quarter * len(looks) // 4:(quarter + 1) * len(looks) // 4]
    first, last = part[0], part[-1]
    growth = (last[1] - first[1]) * 2**20 / ((last[0] - first[0]) * rate) if last[0] > first[0] else 0
    print("%5.0f s  %10.1f  %13.0f  %5d  %7d  %11.1f  %5d  %7d" % (last[0], last[1], growth, max(l[2] for l in part), max(l[3] for l in part),
                                                               last[4], max(l[5] for l in part), max(l[6] for l in part)))
with open(folder + "/requests.csv") as file:
    rows = list(csv.DictReader(file))
times = [float(row["first_visible_s"]) - float(row["sent_s"]) for row in rows if row["first_visible_s"]]
fifth = len(times) // 5
for name, part in (("first fifth", times[:fifth]), ("last fifth", times[-fifth:])):
    print("TTFT of the %s: p50 %.2f ms, p99 %.2f ms" % (name, 1e3 * percentile(part, 0.5), 1e3 * percentile(part, 0.99)))
print("requests:", json.dumps(result["requests"]), "errors:", json.dumps(result["errors"]))
print("client:", result["client"]["verdict"], json.dumps(result["client"]["lag"]))
print("client resident, most: %.1f MiB" % most_resident)
print("server resident, first and last: %.1f, %.1f MiB" % (looks[0][4], looks[-1][4]))
