#!/usr/bin/env python3
"""What the hook of `warpmark optimize` costs a step without a knob, beside what two runs without it differ by.

    bench/hook_overhead.py [--pairs 20] [--device cpu|cuda] [--applied] [SIZE ...]

Each round runs the same training three times in fresh processes, in random order: twice as it is (A and A') and once under the
hook as a search runs it, with its notes of every step, or as `optimize --apply` does, which measures nothing. A step's time is the program's own, of the second half of its steps.
Printed: the median step, the ratio with the hook over without and that of the two without, each with its 95 % interval over
rounds (order statistics of the median). Needs a python3 with torch; the hook is the one in src/workers/hook.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HOOK = pathlib.Path(__file__).resolve().parent.parent / "src" / "workers" / "hook"
SIZES = {"tiny": (8, 8, 1, 6000), "layers": (128, 32, 24, 800), "wide": (512, 128, 4, 120)}  # width, batch, layers, steps
PROGRAM = """
import sys, time, torch
width, batch, layers, steps, device = *map(int, sys.argv[1:5]), sys.argv[5]
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
data = [torch.randn(batch, width, device=device) for _ in range(4)]
def sync():
    if device != "cpu": torch.cuda.synchronize()
for i in range(steps):
    if i == steps // 2:
        sync()
        begin = time.perf_counter()
    optimizer.zero_grad()
    loss = model(data[i % 4]).square().mean()
    loss.backward()
    optimizer.step()
sync()
print("step", (time.perf_counter() - begin) / (steps - steps // 2))
"""


def step_s(words, hooked, applied, folder):
    environment = dict(os.environ)
    environment.pop("WARPMARK_HOOK", None)
    if hooked:
        plan = pathlib.Path(folder) / "plan.json"
        wanted = {"version": 1, "knobs": {}, "warmup_steps": 5, "window_steps": 0, "stop": False, "seed": 1}
        plan.write_text(json.dumps({**wanted, "measure": not applied}))
        environment.update(WARPMARK_HOOK=str(plan), WARPMARK_HOOK_REPORT=folder, PYTHONPATH=str(HOOK))
    run = subprocess.run(words, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit("the program failed:\n" + run.stderr[-2000:])
    if hooked and not applied and not any('"steps"' in f.read_text() for f in pathlib.Path(folder).glob("*.jsonl")):
        sys.exit("the hook saw no step")
    return float(run.stdout.split("step ")[-1].split()[0])


def interval(ratios):
    """The median and its 95 % interval by order statistics, which no disturbed run can move far."""
    ordered, n = sorted(ratios), len(ratios)
    below, k = 0.0, 0  # the k-th smallest and largest: P(fewer than k of n coins) <= 2.5 %
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    if k == 0:
        sys.exit("%d rounds tell no interval: 6 at least" % n)
    return statistics.median(ordered), ordered[k - 1], ordered[n - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--applied", action="store_true", help="as `optimize --apply` runs it")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    order = random.Random(asked.seed)
    print("%-8s %12s %28s %28s" % ("size", "step", "with the hook / without", "without / without"))
    for size in asked.sizes:
        words = [asked.python, "-c", PROGRAM, *map(str, SIZES[size]), asked.device]
        rounds = []
        for _ in range(asked.pairs):
            took = {}
            for variant in order.sample(["a", "again", "hook"], 3):
                with tempfile.TemporaryDirectory() as folder:
                    took[variant] = step_s(words, variant == "hook", asked.applied, folder)
            rounds.append(took)
        plain = statistics.median(r["a"] for r in rounds)
        told = ["%.3f (%.3f to %.3f)" % interval([r[variant] / r["a"] for r in rounds]) for variant in ("hook", "again")]
        print("%-8s %9.1f us %28s %28s" % (size, plain * 1e6, *told), flush=True)
        print("  raw", json.dumps([[round(r[k] * 1e6, 2) for k in ("a", "again", "hook")] for r in rounds]))


if __name__ == "__main__":
    main()
