#!/usr/bin/env python3
"""A real repository with a planted slow-down, and whether warpmark finds it.

Makes a git repository of a small C program in which every commit changes some code and one of them, chosen by the seed,
adds a few percent of work to its loop; then runs `warpmark bisect` over the whole range. One line per seed, counts at the end.

usage: planted_regression.py [--warpmark build/release/warpmark] [--seeds 20] [--commits 60] [--slowdown 0.03]
                             [--metric time|cpu_time] [--rounds 200] [--first-seed 1] [--out results.jsonl]
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

PROJECT = """schema: warpmark.project/1
build: cc -O2 -o bench main.c features.c
run: ./bench
timeout: 20s
metrics:
  - {{name: {metric}}}
"""

MAIN = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (1 << 16)
static uint32_t table[WORDS];

/* Feature switches of the release. */
uint32_t apply_features(uint32_t value);

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
ROUNDS = 10_000_000


def git(repository, *words, env=None):
    subprocess.run(["git", "-c", "user.name=A. Author", "-c", "user.email=author@example.org", *words],
                   cwd=repository, check=True, stdout=subprocess.DEVNULL, env=env)


def write(repository, name, text):
    with open(os.path.join(repository, name), "w", encoding="utf-8") as file:
        file.write(text)


def features(count):
    """One more function a commit, so that the program's layout changes as real ones do."""
    text = "#include <stdint.h>\n"
    for i in range(count):
        text += (f"static uint32_t feature_{i}(uint32_t value) {{\n"
                 f"  return (value & {1 << (i % 31)}u) ? value * {2 * i + 3}u : value + {i}u;\n}}\n")
    text += "uint32_t apply_features(uint32_t value) {\n"
    text += "".join(f"  value = feature_{i}(value);\n" for i in range(count))
    return text + "  return value;\n}\n"


def make_repository(folder, commits, culprit, slowdown, metric):
    """Commit 0 is the good one; returns the hashes of all."""
    git(folder, "init", "-q", "-b", "main")
    write(folder, "warpmark.yaml", PROJECT.format(metric=metric))
    hashes = []
    for i in range(commits + 1):
        write(folder, "main.c", MAIN % int(ROUNDS * (1 + (slowdown if i >= culprit else 0))))
        write(folder, "features.c", features(i + 1))
        git(folder, "add", ".")
        date = {**os.environ, "GIT_COMMITTER_DATE": f"{1_760_000_000 + i * 3600} +0000",
                "GIT_AUTHOR_DATE": f"{1_760_000_000 + i * 3600} +0000"}
        git(folder, "commit", "-q", "-m", f"Add feature {i}", env=date)
        hashes.append(subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip())
    return hashes


def try_seed(seed, options):
    culprit = random.Random(seed).randint(1, options.commits)
    folder = tempfile.mkdtemp(prefix="warpmark-planted-")
    try:
        repository = os.path.join(folder, "repository")
        os.mkdir(repository)
        hashes = make_repository(repository, options.commits, culprit, options.slowdown, options.metric)
        before = time.monotonic()
        result_file = os.path.join(folder, "result.json")
        done = subprocess.run(
            [options.warpmark, "bisect", "--good", hashes[0], "--bad", hashes[-1], "--seed", str(seed),
             "--rounds", str(options.rounds), "--db", os.path.join(folder, "w.db"), "--json", result_file],
            cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        seconds = time.monotonic() - before
        if not os.path.exists(result_file):
            return {"seed": seed, "culprit": culprit, "outcome": "error", "exit": done.returncode,
                    "right": False, "builds": 0, "runs": 0, "seconds": round(seconds), "said": done.stdout[-500:]}
        with open(result_file, encoding="utf-8") as file:
            result = json.load(file)
        named = [hashes.index(commit["sha"]) for commit in result["candidates"]]
        change = result.get("change", {})
        return {"seed": seed, "culprit": culprit, "outcome": result["outcome"], "exit": done.returncode,
                "named": named if len(named) < 4 else [named[0], named[-1]],
                "right": result["outcome"] == "found" and named == [culprit],
                "builds": result["builds"], "runs": result["runs"], "seconds": round(seconds),
                "certain": round(result["probability"], 4), "ratio": change.get("ratio"),
                "ci": [change.get("ci_low"), change.get("ci_high")],
                "wrong_answers": sum((probe["answer"] == "good" and probe["index"] >= culprit) or
                                     (probe["answer"] == "bad" and probe["index"] < culprit)
                                     for probe in result["probes"]),
                "load": os.getloadavg()[0]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--warpmark", default="build/release/warpmark")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--slowdown", type=float, default=0.03)
    parser.add_argument("--metric", default="time")
    parser.add_argument("--rounds", type=int, default=200, help="most rounds of one decision")
    parser.add_argument("--out")
    options = parser.parse_args()
    options.warpmark = os.path.abspath(options.warpmark)
    results = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        results.append(try_seed(seed, options))
        line = json.dumps(results[-1])
        print(line, flush=True)
        if options.out:
            with open(options.out, "a", encoding="utf-8") as file:
                file.write(line + "\n")
    right = sum(result["right"] for result in results)
    wrong = sum(result["outcome"] == "found" and not result["right"] for result in results)
    print(f"{right} of {len(results)} right, {wrong} named another commit; at most "
          f"{max(result['builds'] for result in results)} builds, "
          f"{sum(result['seconds'] for result in results) / len(results):.0f} s each")
    return 0 if right >= 0.95 * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
