#!/usr/bin/env python3
"""A real repository with a planted slow-down: whether warpmark's check, trend and bisect find it, and what they call out
besides.

Makes a git repository of a small C program in which every commit adds a function, and one of the range, chosen by the
seed, makes its loop a few percent longer. Then does what a team does: measures every commit with `warpmark run`, checks
it before it is merged, looks at the trend, and lets bisect find the culprit. One line of JSON per seed, tables at the
end.

usage: planted_regression.py [--warpmark build/release/warpmark] [--seeds 20] [--first-seed 1] [--commits 60]
                             [--slowdown 0.03] [--threshold 1.5%] [--rounds 10] [--out results.jsonl]
       planted_regression.py --tables results.jsonl     only the tables of what was measured

What counts, for each seed:
  check   the planted commit, on a branch that is not merged, must end with exit code 1; so should the three commits
          after it. Every commit of the range before it: exit code 1 is a false alarm, 0 a pass. After 3 (undecided) one more session
          of the commit is measured and all of them are checked, after 5 (the machine was disturbed) it is measured
          again; four sessions of a commit at most.
  trend   over all sessions of the main branch: the planted commit or a neighbour must be marked, any other mark is
          false.
  bisect  the planted commit must be the one that is named, in at most 12 builds.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

PROJECT = """schema: warpmark.project/1
build: cc -O2 -o bench main.c
run: ./bench
timeout: 60s
metrics:
  - {name: cpu_time}
  - {name: time}
"""

MAIN = """#include <stdint.h>
#include <stdio.h>

#define WORDS (1 << 16)
static uint32_t table[WORDS];

%s
/* Some rounds over the table: multiplications, a shift, and a load that depends on them. */
__attribute__((noinline)) static uint32_t pass(uint32_t rounds, uint32_t state) {
  for (uint32_t i = 0; i < rounds; ++i) {
    state = state * 1664525u + 1013904223u;
    table[state >> 16] += state;
    state ^= table[(state >> 7) & (WORDS - 1)];
  }
  return state;
}

int main(void) {
  uint32_t state = 1;
  for (uint32_t i = 0; i < WORDS; ++i) table[i] = i;
  state = pass(%d, state);
  printf("%%u\\n", apply_features(state));
  return 0;
}
"""
LOOPS = 4_000_000
OLDER = 12  # commits before the range: the history that a team has when it begins to look
LATER = 6  # commits after it: the trend goes on
SUCCESSORS = 3
MOST_SESSIONS = 4  # of one commit
MOST_BUILDS = 12


def git(repository, *words, env=None):
    subprocess.run(["git", "-c", "user.name=A. Author", "-c", "user.email=author@example.org", *words],
                   cwd=repository, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def features(count):
    """One more function a commit, so that the program's layout changes as real ones do."""
    text = ""
    for i in range(count):
        text += (f"__attribute__((noinline)) static uint32_t feature_{i}(uint32_t value) {{\n"
                 f"  return (value & {1 << (i % 31)}u) ? value * {2 * i + 3}u : value + {i}u;\n}}\n")
    text += "/* Feature switches of the release. */\nstatic uint32_t apply_features(uint32_t value) {\n"
    text += "".join(f"  value = feature_{i}(value);\n" for i in range(count))
    return text + "  return value;\n}\n"


def make_repository(folder, commits, culprit, slowdown):
    """Returns the hashes of all commits; the culprit and all after it have the longer loop."""
    git(folder, "init", "-q", "-b", "main")
    write(folder, "warpmark.yaml", PROJECT)
    write(folder, ".gitignore", "bench\n")
    hashes = []
    for i in range(commits):
        write(folder, "main.c", MAIN % (features(i + 1), int(LOOPS * (1 + (slowdown if i >= culprit else 0)))))
        git(folder, "add", ".")
        date = f"{1_760_000_000 + i * 3600} +0000"
        git(folder, "commit", "-q", "-m", f"Add feature {i}",
            env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date})
        hashes.append(subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip())
    return hashes


class Team:
    """The repository, the database and warpmark."""

    def __init__(self, folder, hashes, options):
        self.repository = os.path.join(folder, "repository")
        self.result_file = os.path.join(folder, "result.json")
        self.database = os.path.join(folder, "w.db")
        self.hashes = hashes
        self.options = options
        self.sessions = 0

    def warpmark(self, *words):
        if os.path.exists(self.result_file):
            os.remove(self.result_file)
        done = subprocess.run([self.options.warpmark, *words, "--db", self.database], cwd=self.repository,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        result = None
        if os.path.exists(self.result_file):
            with open(self.result_file, encoding="utf-8") as file:
                result = json.load(file)
        return done, result

    def measure(self, commit, branch):
        """A session of the commit on the branch; its id."""
        git(self.repository, "checkout", "-q", "-B", branch, self.hashes[commit])
        done, result = self.warpmark("run", "--project", "warpmark.yaml", "--reference", self.hashes[0], "--rounds",
                                     str(self.options.rounds), "--json", self.result_file)
        if done.returncode != 0:
            raise RuntimeError("warpmark run: " + done.stderr + done.stdout[-2000:])
        self.sessions += 1
        return result["id"]

    def check(self, sessions, metrics):
        words = [word for session in sessions for word in ("--run", session)]
        done, result = self.warpmark("check", *words, "--threshold", self.options.threshold, "--metrics", metrics,
                                     "--json", self.result_file)
        metric = result["metrics"][0] if result else {}
        return {"exit": done.returncode, "ratio": metric.get("ratio"), "noise": metric.get("noise"),
                "more": metric.get("more_runs"),
                "said": metric.get("reason", "") if result else done.stderr.strip()[-300:]}

    def check_until_decided(self, commit, branch, metrics, first):
        """Checks until decided. All exit codes on the way, and the last check."""
        sessions, exits = [first], []
        for _ in range(MOST_SESSIONS):
            check = self.check(sessions, metrics)
            exits.append(check["exit"])
            if check["exit"] not in (3, 5) or len(exits) == MOST_SESSIONS:
                break
            again = self.measure(commit, branch)
            sessions = sessions + [again] if check["exit"] == 3 else [again]
        return {**check, "exits": exits}

    def marks(self, metrics):
        """Commits at which the trend marks a change, and whether it is one for the worse."""
        done = self.warpmark("trend", metrics, "--branch", "main", "--threshold", self.options.threshold, "--format",
                             "json")[0]
        if done.returncode != 0:
            raise RuntimeError("warpmark trend: " + done.stderr)
        series = json.loads(done.stdout)["series"][0]
        return [(self.hashes.index(series["points"][change["index"]]["commit"]), change["worse"])
                for change in series["changes"]]

    def bisect(self, good, bad, metric):
        before = time.monotonic()
        done, result = self.warpmark("bisect", "--good", self.hashes[good], "--bad", self.hashes[bad], "--metric", metric,
                                     "--json", self.result_file)
        seconds = round(time.monotonic() - before)
        if result is None:
            return {"outcome": "error", "exit": done.returncode, "said": done.stderr[-500:], "builds": 0, "named": []}
        change = result.get("change", {})
        return {"outcome": result["outcome"], "exit": done.returncode,
                "named": [self.hashes.index(commit["sha"]) for commit in result["candidates"]][:3],
                "builds": result["builds"], "runs": result["runs"], "seconds": seconds,
                "history": result.get("history_points"), "ratio": change.get("ratio"),
                "ci": [change.get("ci_low"), change.get("ci_high")]}


def try_seed(seed, options):
    culprit = OLDER + random.Random(seed).randint(1, options.commits)
    last = OLDER + options.commits
    ratio = "cpu_time_vs_*"
    folder = tempfile.mkdtemp(prefix="warpmark-planted-")
    began = time.monotonic()
    try:
        os.mkdir(os.path.join(folder, "repository"))
        hashes = make_repository(os.path.join(folder, "repository"), last + 1 + LATER, culprit, options.slowdown)
        team = Team(folder, hashes, options)
        loads, healthy, wall_healthy = [], [], []
        for commit in range(culprit):
            session = team.measure(commit, "main")
            loads.append(os.getloadavg()[0])
            if commit >= OLDER:
                healthy.append(team.check_until_decided(commit, "main", ratio, session))
                wall_healthy.append(team.check([session], "time_vs_*")["exit"])
        slow, others = [], {}
        for commit in range(culprit, culprit + 1 + SUCCESSORS):
            if commit > last + LATER:
                break
            session = team.measure(commit, "change")
            if commit == culprit:
                others = {metrics: team.check([session], metrics) for metrics in ("time_vs_*", "cpu_time", "time")}
            slow.append(team.check_until_decided(commit, "change", ratio, session))
        first_mark = None
        for commit in range(culprit, last + 1 + LATER):
            team.measure(commit, "main")
            loads.append(os.getloadavg()[0])
            if first_mark is None and any(abs(at - culprit) <= 1 and worse for at, worse in team.marks(ratio)):
                first_mark = commit - culprit + 1
        marks = {metrics: team.marks(metrics) for metrics in (ratio, "time_vs_*", "cpu_time", "time")}
        bisect = team.bisect(OLDER, last, "cpu_time")
        return {"seed": seed, "culprit": culprit - OLDER, "healthy": healthy, "wall_healthy": wall_healthy, "slow": slow,
                "others": others, "marks": {key: [(at - OLDER, worse) for at, worse in value]
                                            for key, value in marks.items()},
                "first_mark": first_mark, "bisect": {**bisect, "named": [at - OLDER for at in bisect["named"]]},
                "sessions": team.sessions, "seconds": round(time.monotonic() - began),
                "load": [min(loads), sorted(loads)[len(loads) // 2], max(loads)]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def interval(hits, of):
    """Clopper-Pearson, 95 %, by bisection of the binomial's tails."""
    def at_most(k, p):
        return sum(math.comb(of, i) * p ** i * (1 - p) ** (of - i) for i in range(k + 1))

    def solve(tail):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(middle) else (low, middle)
        return low
    least = 0 if hits == 0 else solve(lambda p: 1 - at_most(hits - 1, p) < 0.025)
    most = 1 if hits == of else solve(lambda p: at_most(hits, p) > 0.025)
    return f"{hits} of {of} ({least:.1%} .. {most:.1%})"


def judged(result):
    """Everything of a seed that counts."""
    k = result["culprit"]
    right = [at for at, worse in result["marks"]["cpu_time_vs_*"] if abs(at - k) <= 1 and worse]
    bisect = result["bisect"]
    return {"planted": bool(result["slow"]) and result["slow"][0]["exit"] == 1,
            "check": bool(result["slow"]) and all(check["exit"] == 1 for check in result["slow"]),
            "at_once": bool(result["slow"]) and all(check["exits"] == [1] for check in result["slow"]),
            "false_alarms": sum(check["exit"] == 1 for check in result["healthy"]),
            "passes": sum(check["exit"] == 0 for check in result["healthy"]),
            "trend": bool(right), "false_marks": len(result["marks"]["cpu_time_vs_*"]) - min(1, len(right)),
            "bisect": bisect["outcome"] == "found" and bisect["named"] == [k] and bisect["builds"] <= MOST_BUILDS}


def print_tables(results):
    print("| seed | culprit | check: slow | check: healthy, false alarms, undecided | trend: mark | after sessions | "
          "false marks | bisect | builds | runs | sessions | seconds | load |")
    print("| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for result in results:
        good, k = judged(result), result["culprit"]
        slow = ", ".join("+".join(str(code) for code in check["exits"]) for check in result["slow"])
        marks = [at for at, _ in result["marks"]["cpu_time_vs_*"]]
        undecided = len(result["healthy"]) - good["passes"] - good["false_alarms"]
        print(f"| {result['seed']} | {k} | {slow} | {good['passes']}, {good['false_alarms']}, {undecided} | "
              f"{', '.join(str(at) for at in marks) or '-'} | {result['first_mark'] or '-'} | {good['false_marks']} | "
              f"{', '.join(str(at) for at in result['bisect']['named']) or '-'} | {result['bisect']['builds']} | "
              f"{result['bisect'].get('runs', 0)} | {result['sessions']} | {result['seconds']} | "
              f"{result['load'][0]:.1f} .. {result['load'][2]:.1f} |")
    all_of = [judged(result) for result in results]
    checks = sum(len(result["healthy"]) for result in results)
    slow = [check for result in results for check in result["slow"]]
    wall = [code for result in results for code in result["wall_healthy"]]
    print("\n| what | count (95 % interval) |\n| --- | --- |")
    rows = [("seeds in which check failed on the planted commit", sum(item["planted"] for item in all_of), len(results)),
            (f"... and on the {SUCCESSORS} commits after it, too", sum(item["check"] for item in all_of), len(results)),
            ("checks of slow commits (the planted one and its successors) that failed", sum(check["exit"] == 1 for check in slow), len(slow)),
            ("... with the first session", sum(check["exits"] == [1] for check in slow), len(slow)),
            ("false alarms among checks of healthy commits", sum(item["false_alarms"] for item in all_of), checks),
            ("checks of healthy commits that passed", sum(item["passes"] for item in all_of), checks),
            ("... with the first session",
             sum(check["exits"] == [0] for result in results for check in result["healthy"]), checks),
            ("seeds in which trend marked the planted commit", sum(item["trend"] for item in all_of), len(results)),
            ("seeds with another mark", sum(item["false_marks"] > 0 for item in all_of), len(results)),
            (f"seeds in which bisect named it, in at most {MOST_BUILDS} builds",
             sum(item["bisect"] for item in all_of), len(results)),
            ("seeds in which check failed on it, trend marked it and bisect named it",
             sum(item["planted"] and item["trend"] and item["bisect"] for item in all_of), len(results)),
            ("wall clock beside the reference: healthy checks that passed", wall.count(0), len(wall)),
            ("wall clock beside the reference: false alarms", wall.count(1), len(wall))]
    for metrics, name in (("time_vs_*", "wall clock beside the reference"), ("cpu_time", "cpu_time alone"),
                          ("time", "wall clock alone")):
        rows.append((f"{name}: check of the planted commit failed",
                     sum(result["others"][metrics]["exit"] == 1 for result in results), len(results)))
        rows.append((f"{name}: trend marked it",
                     sum(any(abs(at - result["culprit"]) <= 1 and worse for at, worse in result["marks"][metrics])
                         for result in results), len(results)))
        rows.append((f"{name}: seeds with another mark",
                     sum(any(abs(at - result["culprit"]) > 1 for at, _ in result["marks"][metrics])
                         for result in results), len(results)))
    for name, hits, of in rows:
        print(f"| {name} | {interval(hits, of)} |")
    print("\nmost builds of bisect:", max(result["bisect"]["builds"] for result in results))
    for metrics in ("time_vs_*", "cpu_time", "time"):
        noise = sorted(result["others"][metrics]["noise"] or 0 for result in results)
        print(f"noise from session to session, median over the seeds, {metrics}: {noise[len(noise) // 2]:.2%}")
    noise = sorted(result["slow"][0]["noise"] or 0 for result in results)
    print(f"noise from session to session, median over the seeds, cpu_time_vs_*: {noise[len(noise) // 2]:.2%}")
    return all(sum(item[key] for item in all_of) >= 0.95 * len(results) for key in ("planted", "trend", "bisect"))


def read_results(path):
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--warpmark", default="build/release/warpmark")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--slowdown", type=float, default=0.03)
    parser.add_argument("--threshold", default="1.5%")
    parser.add_argument("--rounds", type=int, default=10, help="of a session")
    parser.add_argument("--out", help="results, a line a seed; seeds that it has are not measured again")
    parser.add_argument("--tables", help="print the tables of these results and measure nothing")
    options = parser.parse_args()
    options.warpmark = os.path.abspath(options.warpmark)
    if options.tables:
        return 0 if print_tables(read_results(options.tables)) else 1
    results = read_results(options.out)
    known = {result["seed"] for result in results}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        if seed in known:
            continue
        results.append(try_seed(seed, options))
        print(f"seed {seed}: {judged(results[-1])}", file=sys.stderr, flush=True)
        if options.out:
            with open(options.out, "a", encoding="utf-8") as file:
                file.write(json.dumps(results[-1]) + "\n")
    results.sort(key=lambda result: result["seed"])
    return 0 if print_tables(results) else 1


if __name__ == "__main__":
    sys.exit(main())
