#!/usr/bin/env python3
"""What watching a command's GPUs costs it: the same program with and without.

Every round runs a program of matrix products twice in random order: alone, and as `warpmark run` runs it, whose looks at
the GPU come every 500 ms. The program times itself, on the GPU's clock and on the host's, so that starting it is in
neither. Prints the ratio (watched / alone) with its 95 % interval, of Student's t on the rounds' log ratios.

    bench/gpu/watch_overhead.py build/release/warpmark [--rounds 20] [--seconds 10]

Needs PyTorch with CUDA. The aim: the interval's upper end below 1.01.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

PROGRAM = r"""
import json, sys, time, torch
seconds, size = float(sys.argv[1]), int(sys.argv[2])
a = torch.randn(size, size, device='cuda', dtype=torch.bfloat16)
small = torch.randn(64, 64, device='cuda')
def step():
    b = a @ a
    c = small
    for _ in range(50):  # many short launches: what a busy driver would hurt first
        c = torch.tanh(c)
    return b, c
for _ in range(20):
    step()
torch.cuda.synchronize()
begin, steps = time.perf_counter(), 0
first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
first.record()
while time.perf_counter() - begin < seconds:
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    steps += 10
last.record()
torch.cuda.synchronize()
host = time.perf_counter() - begin
open(sys.argv[3], 'w').write(json.dumps({'host': host / steps, 'gpu': first.elapsed_time(last) / 1e3 / steps}))
"""

# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond 30 the normal one is off by less than 4 %.
T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 14: 2.14, 19: 2.09, 29: 2.05}


def t_quantile(degrees):
    known = [d for d in T if d <= degrees]
    return T[max(known)] if degrees <= 30 else 1.96


def measured(command, result):
    if os.path.exists(result):
        os.remove(result)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.path.exists(result):
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    with open(result, encoding='utf-8') as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('warpmark')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--size', type=int, default=4096)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program, result = os.path.join(folder, 'program.py'), os.path.join(folder, 'result.json')
        with open(program, 'w', encoding='utf-8') as file:
            file.write(PROGRAM)
        alone = [sys.executable, program, str(options.seconds), str(options.size), result]
        watched = [options.warpmark, 'run', '--rounds', '1', '--warmup', '0', '--no-store', '--json',
                   os.path.join(folder, 'run.json'), '--'] + alone
        logs = {'host': [], 'gpu': []}
        order = random.Random(1)
        for number in range(options.rounds):
            arms = [('alone', alone), ('watched', watched)]
            order.shuffle(arms)
            times = {name: measured(command, result) for name, command in arms}
            for clock, ratios in logs.items():
                ratios.append(math.log(times['watched'][clock] / times['alone'][clock]))
            print(f"round {number + 1}: " + ', '.join(f"{clock} {math.exp(r[-1]):.4f}" for clock, r in logs.items()),
                  flush=True)
        with open(os.path.join(folder, 'run.json'), encoding='utf-8') as file:
            metrics = {m['id']: m['samples'][0] for m in json.load(file)['runs'][0]['metrics']}
    print('\nwhat was seen of the last one: ' +
          ', '.join(f"{key} {value:.4g}" for key, value in metrics.items() if key.startswith('gpu_')))
    for clock, ratios in logs.items():
        mean = statistics.fmean(ratios)
        half = t_quantile(len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
        print(f"{clock} time of a step, watched / alone: {math.exp(mean):.4f} "
              f"({math.exp(mean - half):.4f} .. {math.exp(mean + half):.4f}), {len(ratios)} rounds")


if __name__ == '__main__':
    main()
