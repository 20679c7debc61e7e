"""What a recorder that sleeps costs: the steps of programs under `warpmark profile --dormant` against those of the same program
alone. Several processes of each kind live at once and take turns of a quarter of a second in random order, as hosts that others
share change from one minute to the next. The interval is over processes, which differ by where their memory lies.
Then one recording of a sleeping program that is woken by `warpmark profile --pid`.

Usage: python3 dormant_overhead.py WARPMARK OUT_FOLDER [PROCESSES [ROUNDS [PROGRAM ...]]]
       python3 dormant_overhead.py --worker PROGRAM   (steps for as many seconds as a line of its input says)
Programs are those of profile_overhead.py and product, a product of 8192 x 8192 in bf16; default: 6 of each kind, 40 rounds,
mlp and product."""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

from profile_overhead import training_step
from watch_overhead import t_quantile

TURN_S = 0.25


def product_step(torch):
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def step():
        torch.mm(a, a)
        torch.cuda.synchronize()

    return step


def worker(program):
    """Answers "ready", and each line of seconds with the median step in milliseconds."""
    import torch
    step = product_step(torch) if program == "product" else training_step(torch, program)
    for _ in range(50):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end:
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times[len(times) // 5:]) * 1e3, flush=True)


class Process:
    def __init__(self, warpmark, program, asleep):
        command = [sys.executable, "-W", "ignore", os.path.abspath(__file__), "--worker", program]
        self.asleep, self.steps_ms = asleep, []
        self.process = subprocess.Popen([warpmark, "profile", "--dormant", "--", *command] if asleep else command,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self):
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                sys.exit("a program ended before its first turn")

    def turn(self):
        self.process.stdin.write(f"{TURN_S}\n")
        self.process.stdin.flush()
        self.steps_ms.append(float(self.process.stdout.readline()))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def welch_interval(asleep, alone):
    """Ratio of geometric means and its 95 % interval (Welch 1947) of logarithms."""
    logs = [[math.log(value) for value in side] for side in (asleep, alone)]
    parts = [statistics.variance(side) / len(side) for side in logs]
    freedom = sum(parts) ** 2 / sum(part * part / (len(side) - 1) for part, side in zip(parts, logs))
    difference = statistics.mean(logs[0]) - statistics.mean(logs[1])
    half = t_quantile(int(freedom)) * math.sqrt(sum(parts))
    return tuple(math.exp(value) for value in (difference, difference - half, difference + half))


def measure(warpmark, program, count, rounds):
    processes = [Process(warpmark, program, which % 2 == 1) for which in range(2 * count)]
    for process in processes:
        process.wait_until_ready()
    for _ in range(rounds):
        for process in random.sample(processes, len(processes)):
            process.turn()
    # Each turn against the median of its round, so that what the host did then counts for neither kind.
    levels = [statistics.median(process.steps_ms[i] for process in processes) for i in range(rounds)]
    relative = {asleep: [statistics.median(ms / level for ms, level in zip(process.steps_ms, levels))
                         for process in processes if process.asleep == asleep] for asleep in (False, True)}
    step = statistics.median(levels)
    ratio, low, high = welch_interval(relative[True], relative[False])
    print(f"| {program} | {step:.3f} ms | {ratio:.4f} ({low:.4f} to {high:.4f}) |", flush=True)
    print("  processes alone ", " ".join(f"{value:.4f}" for value in sorted(relative[False])))
    print("  processes asleep", " ".join(f"{value:.4f}" for value in sorted(relative[True])), flush=True)
    for process in processes:
        process.end()


def wake(warpmark, folder):
    train = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile_overhead.py")
    sleeping = [warpmark, "profile", "--dormant", "--", sys.executable, "-W", "ignore", train, "--train", "20", "mlp"]
    process = subprocess.Popen(sleeping, stdout=subprocess.PIPE, text=True)
    time.sleep(12)
    began = time.time()
    path = os.path.join(folder, "woken.wmrec")
    run = subprocess.run([warpmark, "profile", "--pid", str(process.pid), "--duration", "1s", "--out", path],
                         capture_output=True, text=True)
    ended = time.time()
    times = json.loads(process.communicate()[0].splitlines()[-1])["times"]
    before, after = ([length for start, length in times if which(start)] for which in
                     (lambda start: start < began, lambda start: start > ended))
    print(f"woken: exit code {run.returncode} after {ended - began:.1f} s; median step before "
          f"{statistics.median(before) * 1e3:.3f} ms, after {statistics.median(after) * 1e3 if after else float('nan'):.3f} ms\n"
          f"{run.stdout}{run.stderr}")


def main(warpmark, folder, count="6", rounds="40", *programs):
    print("| program | step | asleep / alone (95 %) |\n|---|---|---|")
    for program in programs or ("mlp", "product"):
        measure(warpmark, program, int(count), int(rounds))
    wake(warpmark, folder)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(sys.argv[2])
    else:
        main(*sys.argv[1:])
