#!/usr/bin/env python3
"""What `warpmark plan` predicts for two GPUs from one and a sweep, beside the step on two: programs of the corpus that train
with DistributedDataParallel.

    bench/gpu_plan.py WARPMARK SWEEP.json OUT [--seconds 2] [--limit 240] [PROGRAM ...]

SWEEP.json is of `warpmark collective all_reduce -g 2`. Each program runs on one GPU and on two, in fresh processes, with the
same batch a rank; as many at once as there are GPUs. "flawed" and "fixed" are the variants of the corpus: a healthy program has
the first only. Its gradients are counted where they are exchanged. The table comes last; OUT/plan.csv has it too.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
PROGRAMS = [
    ("ddp_so400m_healthy", "flawed"),
    ("ddp_wide_resnet101_healthy", "flawed"),
    ("ddp_encoder_small_batch", "flawed"),
    ("ddp_encoder_small_batch", "fixed"),
    ("ddp_wide_mlp_small_batch", "flawed"),
    ("ddp_wide_mlp_small_batch", "fixed"),
    ("ddp_engravings_scores_written_out", "fixed"),
    ("ddp_songs_slopes_and_scores_written_out", "fixed"),
    ("ddp_glaciers_group_norm_as_in_the_paper", "fixed"),
    ("ddp_places_frozen_norms_apart", "fixed"),
    ("ddp_riddles_radam_per_parameter", "fixed"),
    ("ddp_beit_trains_in_fp32", "flawed"),
    ("ddp_beit_trains_in_fp32", "fixed"),
    ("ddp_offers_crossed_in_fp32", "flawed"),
]


def number_of_buckets(sizes, most=25 << 20):
    """As DistributedDataParallel fills them, from the last parameter: a bucket is closed by the tensor that fills it."""
    number, filled = 0, most
    for size in reversed(sizes):
        if filled >= most:
            number, filled = number + 1, 0
        filled += size
    return number


def worker(name, variant, seconds):
    """One rank. Prints the step and the bytes of gradients that DistributedDataParallel exchanges."""
    sys.path.insert(0, str(CORPUS))
    import run
    import torch
    import torch.distributed as dist
    from shared import catalog, torch_recording

    program = catalog.named(name)
    os.environ.update(run.environment_of(program, variant))
    counted, buckets = [], []
    make = torch.nn.parallel.DistributedDataParallel.__init__

    def counting(self, module, *args, **more):
        sizes = [p.numel() * p.element_size() for p in module.parameters() if p.requires_grad]
        counted.append(sum(sizes))
        buckets.append(number_of_buckets(sizes))
        make(self, module, *args, **more)

    torch.nn.parallel.DistributedDataParallel.__init__ = counting
    if torch_recording.ranks() == 1:  # as on two GPUs, but for the exchange
        torch.cuda.set_device(0)
        dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    module = run.load(program)
    blocks, _ = torch_recording.timed_alone(program, module, variant, seconds)
    if int(os.environ["RANK"]) == 0:
        work = program["fixed_batch"] / program["batch"] if variant == "fixed" and "fixed_batch" in program else 1
        said = {"step_ms": statistics.median(blocks) * work, "gradients": sum(counted), "buckets": sum(buckets)}
        print(json.dumps(said), flush=True)


class Cards:
    """GPUs that jobs take and give back; a pair is of neighbours."""

    def __init__(self, count):
        self.free, self.change = set(range(count)), threading.Condition()

    def take(self, number):
        with self.change:
            while True:
                for first in sorted(self.free):
                    cards = list(range(first, first + number))
                    if first % number == 0 and self.free.issuperset(cards):
                        self.free.difference_update(cards)
                        return cards
                self.change.wait()

    def give(self, cards):
        with self.change:
            self.free.update(cards)
            self.change.notify_all()


def measure(cards, job, asked, end):
    name, variant, ranks = job
    taken = cards.take(ranks)
    try:
        left = end - time.monotonic()
        if left < 15:
            return job, None
        code = "import sys; sys.path.insert(0, %r); import run; sys.exit(run.run_ranks(%d, %r))" % (
            str(CORPUS),
            ranks,
            [sys.executable, os.path.abspath(__file__), "--worker", name, variant, str(asked.seconds)],
        )
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=",".join(map(str, taken)), OMP_NUM_THREADS="4")
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=left)
        (asked.out / ("%s-%s-%d.txt" % job)).write_text(done.stdout + done.stderr)
        found = re.search(r'\{"step_ms".*\}', done.stdout)
        return job, json.loads(found[0]) if found else None
    except subprocess.TimeoutExpired:
        return job, None
    finally:
        cards.give(taken)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return worker(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("warpmark")
    parser.add_argument("sweep")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--limit", type=float, default=240)
    asked = parser.parse_intermixed_args()
    programs = [(name, variant) for name, variant in PROGRAMS if not asked.programs or name in asked.programs]
    asked.out.mkdir(parents=True, exist_ok=True)
    gpus = len(subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout.splitlines())
    if gpus < 2:
        sys.exit("two GPUs are needed, %d found" % gpus)
    cards, end = Cards(gpus), time.monotonic() + asked.limit
    jobs = [(name, variant, ranks) for name, variant in programs for ranks in (2, 1)]
    with concurrent.futures.ThreadPoolExecutor(gpus) as pool:
        found = dict(pool.map(lambda job: measure(cards, job, asked, end), jobs))
    rows = []
    for name, variant in programs:
        one, two = found[name, variant, 1], found[name, variant, 2]
        if one is None or two is None:
            print("%s %s: not measured, see %s" % (name, variant, asked.out))
            continue
        file = asked.out / "predicted.json"
        words = [asked.warpmark, "plan", "--step-time", "%.6fms" % one["step_ms"], "--gradients", "%d" % one["gradients"]]
        words += ["--bucket", "%d" % (one["gradients"] / max(1, one["buckets"]))]
        words += ["--measured-links", asked.sweep, "--to", "2", "--json", str(file), "--measured", "2=%.6fms" % two["step_ms"]]
        subprocess.run(words, check=True, capture_output=True)
        step = json.loads(file.read_text())["steps"][0]
        error = step["step"] * 1e3 / two["step_ms"] - 1
        rows.append((name, variant, one["gradients"], one["step_ms"], two["step_ms"], step["step"] * 1e3, error))
    print("%-42s %-7s %10s %9s %9s %9s %7s" % ("program", "variant", "gradients", "1 GPU ms", "2 GPUs", "predicted", "error"))
    for name, variant, gradients, one, two, step, error in rows:
        form = "%-42s %-7s %7.1f MB %9.3f %9.3f %9.3f %+6.1f %%"
        print(form % (name, variant, gradients / 1e6, one, two, step, 100 * error))
    within = sum(abs(row[-1]) <= 0.15 for row in rows)
    print("within 15 %%: %d of %d" % (within, len(rows)))
    with (asked.out / "plan.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "variant", "gradients_bytes", "step_1_ms", "step_2_ms", "predicted_2_ms", "error"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
