#!/usr/bin/env python3
"""What watching a command's GPUs costs it: one program, watched and not, in turns of a second.

`warpmark run` runs a program and looks at the GPU every 500 ms. The program stops that process (SIGSTOP) for every other
second, in random order within each pair, and times its own steps on the GPU's clock: both halves of a pair are one process,
a second apart, so that neither starts nor other tenants of the host are in their ratio as far as that goes. Two programs:
large matrix products, which the GPU is busy with, and small kernels, which wait for the host to launch them. Prints the
ratio (watched / alone) with its 95 % interval, of Student's t on the pairs' log ratios, and of signed ranks.

    bench/gpu/watch_overhead.py build/release/warpmark [--pairs 24]

Needs PyTorch with CUDA. The aim: the interval's upper end below 1.01.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = r"""
import json, os, random, signal, sys, time, torch
size, pairs, result = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
watcher = os.getppid()
with open(f'/proc/{watcher}/comm') as file:
    assert 'warpmark' in file.read(), 'the parent is not warpmark'
a = torch.randn(size, size, device='cuda', dtype=torch.bfloat16)
small = torch.randn(64, 64, device='cuda')
def step():
    b = a @ a
    c = small
    for _ in range(50):
        c = torch.tanh(c)
    return b, c
def second(watched):
    os.kill(watcher, signal.SIGCONT if watched else signal.SIGSTOP)
    step()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + 1
    while time.perf_counter() < end:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(10):
            step()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / 10)
    return sum(times) / len(times)
for _ in range(2):
    second(True)
told = []
try:
    for _ in range(pairs):
        order = [True, False]
        random.shuffle(order)
        took = {watched: second(watched) for watched in order}
        told.append((took[True], took[False]))
finally:
    os.kill(watcher, signal.SIGCONT)
with open(result, 'w') as file:
    json.dump(told, file)
"""

# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond 30 the normal one is off by less than 4 %.
T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 14: 2.14, 19: 2.09, 29: 2.05}


def t_quantile(degrees):
    known = [d for d in T if d <= degrees]
    return T[max(known)] if degrees <= 30 else 1.96


def pairs_of(warpmark, size, pairs, folder):
    """Times of a step in ms, (watched, alone), and what warpmark says of the GPU."""
    program, result, run = (os.path.join(folder, name) for name in ('program.py', 'result.json', 'run.json'))
    with open(program, 'w', encoding='utf-8') as file:
        file.write(PROGRAM)
    command = [warpmark, 'run', '--rounds', '1', '--warmup', '0', '--no-store', '--json', run, '--',
               sys.executable, program, str(size), str(pairs), result]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.path.exists(result):
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    with open(result, encoding='utf-8') as file, open(run, encoding='utf-8') as told:
        seen = {m['id']: m['samples'][0] for m in json.load(told)['runs'][0]['metrics'] if m['id'].startswith('gpu_')}
        return json.load(file), seen


def median_interval(logs):
    """Of the pseudomedian, by signed ranks (Hodges and Lehmann), with the normal approximation of its 95 % ranks."""
    n = len(logs)
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(n) for j in range(i, n))
    cut = int(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    return statistics.median(walsh), walsh[max(0, cut)], walsh[min(len(walsh) - 1, len(walsh) - 1 - cut)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('warpmark')
    parser.add_argument('--pairs', type=int, default=24)
    options = parser.parse_args()
    for name, size in (('large products', 8192), ('small kernels', 256)):
        with tempfile.TemporaryDirectory() as folder:
            pairs, seen = pairs_of(options.warpmark, size, options.pairs, folder)
        logs = [math.log(watched / alone) for watched, alone in pairs]
        mean = statistics.fmean(logs)
        half = t_quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        ranks = ', '.join(f"{math.exp(value):.4f}" for value in median_interval(logs))
        print(f"{name}: step {statistics.median(alone for _, alone in pairs):.4g} ms; watched / alone {math.exp(mean):.4f} "
              f"({math.exp(mean - half):.4f} .. {math.exp(mean + half):.4f}), by signed ranks {ranks}; {len(logs)} pairs; "
              f"seen: {', '.join(f'{key} {value:.4g}' for key, value in seen.items())}", flush=True)
        print('  raw:', json.dumps(pairs))


if __name__ == '__main__':
    main()
