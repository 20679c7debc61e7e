#!/usr/bin/env python3
"""What sampling Python stacks costs the thread that launches: steps with the sampler on and off, in turns within one process.

    bench/stacks_overhead.py [--pairs 40] [--device cpu|cuda]

The sampler is that of `warpmark profile` (src/workers/hook/_warpmark_stacks.py), told through its pipe as the recorder tells it. Steps
are those of a small network, bound by what Python and the dispatcher do on one thread: what a GPU program that is bound by its
launches waits for. Turns last a second, in random order within each pair. Prints the ratio (sampled / not) with its 95 %
interval, of Student's t on the pairs' log ratios. The aim: at most 1.02. Needs PyTorch.
"""
import argparse
import math
import os
import random
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "workers", "hook"))
import _warpmark_stacks  # noqa: E402


def steps_of(device):
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(40)]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(8, 32, device=device)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def turn(step, tell, sampled):
    tell("P" if sampled else "0")
    times, end = [], time.perf_counter() + 1
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(10):
            step()
        times.append((time.perf_counter() - begin) / 10)
    return statistics.fmean(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    step = steps_of(options.device)
    with tempfile.TemporaryDirectory() as folder:
        sampler = _warpmark_stacks.Sampler(folder)
        looks, sample = [], sampler.sample
        sampler.sample = lambda own, keep: (looks.append(None), sample(own, keep))
        threading.Thread(target=sampler.run, daemon=True).start()

        def tell(letter):
            os.write(sampler.pipe, letter.encode())

        turn(step, tell, True)
        looks.clear()
        logs, plain = [], []
        for _ in range(options.pairs):
            order = [True, False]
            random.shuffle(order)
            took = {sampled: turn(step, tell, sampled) for sampled in order}
            logs.append(math.log(took[True] / took[False]))
            plain.append(took[False])
        tell("0")
        mean, deviation = statistics.fmean(logs), statistics.stdev(logs)
        half = 2.02 * deviation / math.sqrt(len(logs))  # Student's t at 40 degrees of freedom; 2.09 at 20
        print(
            f"step {statistics.median(plain) * 1e3:.3f} ms; {len(looks) / options.pairs:.0f} samples a second of "
            f"{sampler.cost * 1e6:.0f} µs each; sampled / not {math.exp(mean):.4f} ({math.exp(mean - half):.4f} .. "
            f"{math.exp(mean + half):.4f}), {len(logs)} pairs"
        )


if __name__ == "__main__":
    main()
