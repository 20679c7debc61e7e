"""A small fully connected network without any package, as a program to measure: it prints its speed as JSON.

Batches share the reading of weights and the calls, so larger ones have more throughput and more latency. "single" keeps
values in arrays of floats and "double" of doubles, which Python's array module stores in 4 and 8 bytes.
"""
import argparse
import array
import json
import time

WIDTH = 24


def layer(weights, rows, code):
    out = []
    for row in rows:
        values = array.array(code)
        for start in range(0, WIDTH * WIDTH, WIDTH):
            total = 0.0
            for i in range(WIDTH):
                total += weights[start + i] * row[i]
            values.append(total if total > 0 else 0.0)
        out.append(values)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=["double", "single"], required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--samples", type=int, required=True)
    options = parser.parse_args()
    code = "d" if options.precision == "double" else "f"
    weights = array.array(code, [((i * 37) % 17 - 8) / 40 for i in range(WIDTH * WIDTH)])
    latencies = []
    begin = time.perf_counter()
    for first in range(0, options.samples, options.batch):
        started = time.perf_counter()
        count = min(options.batch, options.samples - first)
        rows = [array.array(code, [((first + r + i) % 7) / 7 for i in range(WIDTH)]) for r in range(count)]
        for _ in range(2):
            rows = layer(weights, rows, code)
        latencies.append(time.perf_counter() - started)
    seconds = time.perf_counter() - begin
    print(json.dumps({"samples_per_second": options.samples / seconds, "latencies": latencies}))


main()
