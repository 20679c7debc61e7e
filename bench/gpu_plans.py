#!/usr/bin/env python3
"""Plans that `warpmark optimize` found for programs of the corpus, beside the change by hand: both run in turns, so that what
a machine does meanwhile meets both.

    bench/gpu_plans.py WARPMARK OUT [--limit 400] [--pairs 4] [--lanes N] [PROGRAM:KNOB=VALUE ...]

A pair is the flawed program with the plan and the fixed one, in fresh processes, in an order that changes from pair to pair. The
share is the fixed step by the planned one: the speed-up by the plan over that by hand. All
import torch beforehand and wait, so that nothing is loaded while one is timed. The table comes last; OUT/plans.csv has every run.
"""

import argparse
import csv
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import threading
import time

import gpu_lanes

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
SECONDS = 1.5  # that a run is timed, after its warm-up
MOST_S = 75  # of one run

FOUND = """
reranker_fused_kernels_off:attention.backend=all dense_autoencoder_highest:precision.autocast=bf16
gpt2_eager_infer:attention.sdpa=on wide_mlp_float64:precision.weights=f32 protbert_embeds_in_fp32:precision.weights=bf16
lstm_fp32:precision.autocast=bf16 llama_empties_cache_per_layer:memory.no_empty_cache=on
gpt2_uncached_allocations:memory.caching=on decoder12_math_attention_infer:attention.backend=all
cross_network_batch256:compile=reduce-overhead policy_without_caching_allocator:memory.caching=on
resnet18_adam_per_parameter:optimizer.implementation=fused gmixer_radam_per_parameter:optimizer.implementation=foreach
unet_masks_turned_by_one_worker:loader.workers=12 llama_decode_batch1:compile=reduce-overhead
resnet18_loader_workers0:loader.workers=16 poolformer_adamw_per_parameter:optimizer.implementation=fused
decoder_manual_attention_infer:compile=default vit_tiny_infer_batch1:compile=reduce-overhead
clip_uncached_allocations:memory.caching=on bird_calls_made_spectra_by_three_workers:loader.workers=16
""".split()


def worker(name, variant):
    """Imports torch under the program's environment, waits for a line, and runs the program as corpus/run.py does."""
    sys.path.insert(0, str(CORPUS))
    import run
    from shared import catalog

    # As in a run of corpus/run.py: set once, before the import, after which a knob may take a variable off.
    os.environ.update(run.environment_of(catalog.named(name), variant))
    run.environment_of = lambda *_: {}
    import torch

    torch.cuda.init()
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit(1)
    run.main([name, variant, str(SECONDS)])


class Run:
    """A process that waits for its turn."""

    def __init__(self, program, plan, lane, asked, cpus):
        self.error = (asked.out / (program + ".err")).open("a")
        own = [sys.executable, os.path.abspath(__file__), "--worker", program, "fixed" if plan is None else "flawed"]
        applied = [] if plan is None else [asked.warpmark, "optimize", "--apply", str(plan), "--"]
        self.process = subprocess.Popen(
            ["taskset", "-c", cpus, *applied, *own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.error,
            text=True,
            env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(lane)),
        )

    def await_ready(self):
        """Until torch is imported, or the process has ended."""
        watch = threading.Timer(MOST_S, self.process.kill)
        watch.start()
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
        watch.cancel()

    def step_ms(self):
        """Median of the run's blocks of steps; None where it failed."""
        watch = threading.Timer(MOST_S, self.process.kill)
        watch.start()
        try:
            said = self.process.communicate("go\n")[0].strip().splitlines()
            return statistics.median(json.loads(said[-1])["blocks_ms"])
        except (BrokenPipeError, ValueError, IndexError, KeyError, TypeError):
            return None
        finally:
            watch.cancel()
            self.error.close()

    def give_up(self):
        self.process.kill()
        self.process.communicate()
        self.error.close()


def runs_of(task, lane, asked, cpus):
    """The runs of one program, started together: [its row without the time, the process]."""
    program, _, setting = task.partition(":")
    knob, _, value = setting.partition("=")
    plan = asked.out / ("%s.%s.yaml" % (program, knob))
    plan.write_text('schema: warpmark.optimize-plan/1\nprogram: ""\nsettings:\n  %s: "%s"\n' % (knob, value))
    runs = []
    for pair in range(asked.pairs):
        for planned in (True, False) if pair % 2 == 0 else (False, True):
            row = [program, setting, lane, pair + 1, "plan" if planned else "by hand"]
            runs.append((row, Run(program, plan if planned else None, lane, asked, cpus)))
    return runs


def run_lane(todo, lane, asked, cpus, end):
    """Yields rows. The runs of a program import torch beside each other; once all have, one after another goes on."""
    while time.monotonic() < end - 30:
        try:
            runs = runs_of(todo.get_nowait(), lane, asked, cpus)
        except queue.Empty:
            return
        for _, run in runs:
            run.await_ready()
        for row, run in runs:
            if time.monotonic() < end:
                yield [*row, run.step_ms()]
            else:
                run.give_up()
                yield [*row, None]


def shares(rows):
    """Of each whole pair, the fixed step by the planned one."""
    by_pair = {}
    for _, _, _, pair, variant, took in rows:
        by_pair.setdefault(pair, {})[variant] = took
    return [p["by hand"] / p["plan"] for p in by_pair.values() if p.get("by hand") and p.get("plan")]


def print_table(rows):
    print("%-44s %-34s %9s %9s %6s  %s" % ("program", "plan", "by hand", "plan", "share", "of pairs"))
    by_task = {}
    for row in sorted(rows, key=lambda row: (row[0], row[3])):
        by_task.setdefault(tuple(row[:2]), []).append(row)
    reached = 0
    for task, own in by_task.items():
        each = shares(own)
        if not each:
            print("%-44s %-34s failed" % task)
            continue
        reached += statistics.median(each) >= 0.9
        took = {v: [r[5] for r in own if r[4] == v and r[5]] for v in ("by hand", "plan")}
        text = ["%.3g ms" % statistics.median(took[v]) for v in ("by hand", "plan")]
        text += ["%.0f %%" % (100 * statistics.median(each)), " ".join("%.2f" % share for share in each)]
        print("%-44s %-34s %9s %9s %6s  %s" % (*task, *text))
    print("at 90 %% or more of the hand's: %d of %d" % (reached, len(by_task)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("warpmark")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("tasks", nargs="*", default=FOUND, metavar="PROGRAM:KNOB=VALUE")
    parser.add_argument("--limit", type=float, default=400)
    parser.add_argument("--pairs", type=int, default=4)
    gpu_lanes.add_options(parser)
    asked = parser.parse_intermixed_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + asked.limit
    rows, lock = [], threading.Lock()
    with (asked.out / "plans.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["program", "plan", "gpu", "pair", "variant", "ms_a_step"])

        def lane(todo, gpu, cpus):
            for row in run_lane(todo, gpu, asked, cpus, end):
                with lock:
                    rows.append(row)
                    table.writerow(row)
                    file.flush()

        gpu_lanes.run(asked, asked.tasks, lane)
    print_table(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
