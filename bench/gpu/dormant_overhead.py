"""What a recorder that sleeps costs: steps of a program under `warpmark profile --dormant` against the same program alone, in
turns, each in a process of its own; then one recording of a sleeping program that is woken by `warpmark profile --pid`.

Usage: python3 dormant_overhead.py WARPMARK OUT_FOLDER [PAIRS] [PROGRAM]   (programs of profile_overhead.py; default 8, mlp)"""
import json
import math
import os
import statistics
import subprocess
import sys
import time

from watch_overhead import t_quantile

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile_overhead.py")


def step_ms(command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return statistics.median(length for _, length in json.loads(run.stdout.splitlines()[-1])["times"]) * 1e3


def geometric_interval(ratios):
    """95 % of the mean of logarithms, by Student's t."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, half = statistics.mean(logs), t_quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(value) for value in (mean, mean - half, mean + half))


def wake(warpmark, folder, sleeping, train):
    process = subprocess.Popen([*sleeping, *train], stdout=subprocess.DEVNULL)
    time.sleep(10)
    path = os.path.join(folder, "woken.wmrec")
    run = subprocess.run([warpmark, "profile", "--pid", str(process.pid), "--duration", "1s", "--out", path],
                         capture_output=True, text=True)
    print(f"woken: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    process.wait()


def main(warpmark, folder, pairs="8", program="mlp"):
    sleeping = [warpmark, "profile", "--dormant", "--"]
    train = [sys.executable, "-W", "ignore", TRAIN, "--train"]
    ratios = []
    print("| pair | alone | asleep | ratio |\n|---|---|---|---|")
    for pair in range(int(pairs)):
        commands = [[*train, "4", program], [*sleeping, *train, "4", program]]
        times = [0.0, 0.0]
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            times[which] = step_ms(commands[which])
        ratios.append(times[1] / times[0])
        print(f"| {pair + 1} | {times[0]:.3f} ms | {times[1]:.3f} ms | {ratios[-1]:.4f} |", flush=True)
    print("asleep / alone: %.4f (95 %%: %.4f to %.4f)" % geometric_interval(ratios), flush=True)
    wake(warpmark, folder, sleeping, [*train, "18", program])


if __name__ == "__main__":
    main(*sys.argv[1:])
