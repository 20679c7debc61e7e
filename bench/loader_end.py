#!/usr/bin/env python3
"""How long a run of `warpmark optimize` takes from its start to its end where a loader has workers, under two hooks in turns.

    bench/loader_end.py [--rounds 7] [--workers 2] HOOK [HOOK ...]

A HOOK is a folder as src/workers/hook, of this revision or of another (git show REVISION:src/workers/hook/FILE). The training
makes 35 steps and is left after its window, as in a search; the run has ended when its output is closed, which a worker that
lives on holds open. Needs a python3 with torch.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import sys, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i): return torch.randn(8), i % 3
torch.set_num_threads(1)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.AdamW(model.parameters())
for x, y in torch.utils.data.DataLoader(Data(), batch_size=16, num_workers=int(sys.argv[1])):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
PLAN = {"version": 1, "knobs": {}, "warmup_steps": 5, "window_steps": 30, "stop": True, "seed": 1}


def run_s(python, hook, workers):
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        plan.write_text(json.dumps(PLAN))
        told = {"WARPMARK_HOOK": str(plan), "WARPMARK_HOOK_REPORT": folder, "PYTHONPATH": hook, "PYTHONDONTWRITEBYTECODE": "1"}
        begin = time.monotonic()
        run = subprocess.run([python, "-c", PROGRAM, str(workers)], env=dict(os.environ, **told), capture_output=True)
        took = time.monotonic() - begin
        windows = [f for f in pathlib.Path(folder).glob("*.jsonl") if '"window"' in f.read_text()]
        if run.returncode != 0 or not windows:
            sys.exit("the run ended with %d, and %d windows: %s" % (run.returncode, len(windows), run.stderr.decode()[-500:]))
        return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hooks", nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    took = {hook: [] for hook in asked.hooks}
    for _ in range(asked.rounds):
        for hook in asked.hooks:
            took[hook].append(run_s(asked.python, hook, asked.workers))
    for hook, times in took.items():
        print("%-40s median %.2f s  %s" % (hook, statistics.median(times), " ".join("%.2f" % t for t in times)))


if __name__ == "__main__":
    main()
