#!/usr/bin/env python3
"""Whole searches over knobs that do nothing, on a real training: how many claim a gain.

    python3 bench/optimize_nothing.py WARPMARK --searches 10 --out results.jsonl

Each search has another seed and tries variables that nobody reads, which the tool cannot know: fresh processes, A/B tests,
the last test of all. A search that ends with a plan has claimed a gain where there is none. One line of JSON a search with
all raw samples; searches that were not finished say so and count for nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(16, 3, 16, 16), torch.randint(10, (16,))
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(100000):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def search(warpmark, python, seed, knobs, options):
    with tempfile.TemporaryDirectory() as folder:
        program, path = os.path.join(folder, "train.py"), os.path.join(folder, "optimization.json")
        with open(program, "w") as file:
            file.write(TRAINING)
        command = [os.path.abspath(warpmark), "optimize", "--asked-only", "--seed", str(seed), "--window", options.window]
        command += ["--json", path, "--no-store", "--db", os.path.join(folder, "w.db"), "--effect", options.effect]
        for number in range(knobs):
            command += ["--knob", "nothing%d=NOBODY_READS_%d={1} exact" % (number, number)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        command += ["--", python, program]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        if not os.path.exists(path):
            return {"seed": seed, "problem": done.stderr.strip().splitlines()[-1:]}
        with open(path) as file:
            optimization = json.load(file)
    return {
        "seed": seed,
        "complete": optimization["complete"],
        "claimed": bool(optimization["plan"]) and "optimized" in optimization,
        "spread": optimization["baseline"]["spread"],
        "seconds_per_step": optimization["baseline"]["seconds_per_step"],
        "runs": optimization["cost"]["runs"],
        "seconds": optimization["cost"]["seconds"],
        "steps": [
            {
                "knob": step["knob"],
                "outcome": step["outcome"],
                "ratio": step.get("found", {}).get("ratio"),
                "without_s": step["samples"]["without_s"],
                "with_s": step["samples"]["with_s"],
            }
            for step in optimization["steps"]
        ],
        "original_s": optimization["samples"]["original_s"],
        "optimized_s": optimization["samples"]["optimized_s"],
    }


def main():
    options = argparse.ArgumentParser()
    options.add_argument("warpmark")
    options.add_argument("--python", default=sys.executable, help="that imports torch")
    options.add_argument("--searches", type=int, default=10)
    options.add_argument("--knobs", type=int, default=4)
    options.add_argument("--window", default="1s")
    options.add_argument("--effect", default="1%")
    options.add_argument("--minutes", type=float, default=60, help="no search begins after these")
    options.add_argument("--out", required=True)
    given = options.parse_args()
    begin, rows = time.time(), []
    with open(given.out, "a") as file:
        for seed in range(1, given.searches + 1):
            if time.time() - begin > given.minutes * 60:
                break
            rows.append(search(given.warpmark, given.python, seed, given.knobs, given))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    whole = [row for row in rows if row.get("complete")]
    claims = sum(row["claimed"] for row in whole)
    tests = [step for row in whole for step in row["steps"]]
    kept = sum(step["outcome"] == "kept" for step in tests)
    print("%d searches, %d complete, %d claimed a gain" % (len(rows), len(whole), claims))
    print("of %d knobs %d were kept on the way" % (len(tests), kept))
    for row in rows:
        if "problem" in row:
            print("  seed %d: %s" % (row["seed"], row["problem"]))


if __name__ == "__main__":
    main()
