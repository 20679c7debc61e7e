#!/usr/bin/env python3
"""What `warpmark exporter` costs while a real Prometheus scrapes it every second, and whether anything is missed.

    python3 bench/exporter_scrape.py --warpmark build/release/warpmark --minutes 60 [--db FILE] [--json OUT]

Starts both on loopback ports, reads /proc/PID/stat and /proc/PID/status every 10 s, asks Prometheus at the end how many
scrapes it has and how long they took, lets promtool check the metrics, and prints a table in Markdown.
"""
import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_kib(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(rf"^{name}:\s+(\d+) kB", status.read(), re.M).group(1))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, query, at=None):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query, **({"time": at} if at else {})})
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)["data"]["result"]


def value(port, query):
    found = ask(port, query)
    return float(found[0]["value"][1]) if found else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpmark", required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--interval", default="1s")
    parser.add_argument("--db")
    parser.add_argument("--json")
    args = parser.parse_args()
    for tool in ("prometheus", "promtool"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed (package prometheus)")
    folder = tempfile.mkdtemp(prefix="warpmark-scrape-")
    port = free_port()
    words = [args.warpmark, "exporter", "--port", "0"] + (["--db", args.db] if args.db else [])
    exporter = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    prometheus = None
    try:
        address = re.search(r"http://([^/]+)/", exporter.stdout.readline()).group(1)
        with open(f"{folder}/prometheus.yaml", "w", encoding="utf-8") as config:
            config.write(f"global: {{scrape_interval: {args.interval}}}\nscrape_configs:\n- job_name: warpmark\n"
                         f"  static_configs: [{{targets: ['{address}']}}]\n")
        prometheus = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yaml", "--log.level=error",
                                       f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={folder}/data"])
        time.sleep(10)
        begun, before = time.monotonic(), cpu_seconds(exporter.pid)
        shares, residents, files = [], [], []
        last, last_at = before, begun
        while time.monotonic() - begun < args.minutes * 60:
            time.sleep(10)
            now, now_at = cpu_seconds(exporter.pid), time.monotonic()
            shares.append((now - last) / (now_at - last_at))
            last, last_at = now, now_at
            residents.append(memory_kib(exporter.pid, "VmRSS"))
            files.append(descriptors(exporter.pid))
        seconds = time.monotonic() - begun
        span = f"{int(seconds)}s"
        scraped = urllib.request.urlopen(f"http://{address}/metrics", timeout=30).read()
        checked = subprocess.run(["promtool", "check", "metrics"], input=scraped, capture_output=True, check=False)
        ours = [line for line in checked.stderr.decode().splitlines() if not line.startswith("DCGM_")]
        result = {
            "seconds": round(seconds),
            "cpu_share_mean": (last - before) / seconds,
            "cpu_share_most_10s": max(shares),
            "rss_mib_first": residents[0] / 1024,
            "rss_mib_last": residents[-1] / 1024,
            "rss_mib_peak": memory_kib(exporter.pid, "VmHWM") / 1024,
            "descriptors_first": files[0],
            "descriptors_last": files[-1],
            "scrapes": value(port, f"count_over_time(up[{span}])"),
            "failed_scrapes": value(port, f"count_over_time(up[{span}]) - sum_over_time(up[{span}])"),
            "scrape_s_median": value(port, f"quantile_over_time(0.5, scrape_duration_seconds[{span}])"),
            "scrape_s_p99": value(port, f"quantile_over_time(0.99, scrape_duration_seconds[{span}])"),
            "series": value(port, "scrape_samples_scraped"),
            "bytes": len(scraped),
            "promtool_findings": ours,
            "cpu_share_median_10s": statistics.median(shares),
        }
    finally:
        for process in (prometheus, exporter):
            if process is not None:
                process.terminate()
                process.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
    print("| figure | value |\n|---|---|")
    for name, figure in result.items():
        print(f"| {name} | {figure:.6g} |" if isinstance(figure, (int, float)) else f"| {name} | {figure} |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)


if __name__ == "__main__":
    main()
