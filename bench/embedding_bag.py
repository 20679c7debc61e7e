#!/usr/bin/env python3
"""torch's EmbeddingBag on the lookups of `warpmark run embedding` and `embedding_cache`, as JSON lines on standard output.

    bench/embedding_bag.py [--device cuda:0] [--rows 1000000] [--tables 26] [--table-rows 100000] [--seconds 2]

`resident`: one table on the device, 26 rows a bag, as `embedding` has by default. `tables_resident`: 26 tables on the device,
one row a bag of each, as `embedding_cache` with cache=1, by one module a table (`modules`) and by one table of all rows
(`fused`, as FBGEMM's tables are). `tables_on_host`: the same tables in the host's memory, looked up by its processors, the
sums copied to the device: what a program does that has no cache.
"""

import argparse
import json
import math
import time

import torch


def zipf(rows, count, skew, seed):
    """As fill_zipf of warpmark: the inverse of the continuous law."""
    u = torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    most = rows + 1.0
    x = (1 + u * (most ** (1 - skew) - 1)) ** (1 / (1 - skew)) if abs(skew - 1) > 1e-9 else torch.exp(u * math.log(most))
    return (x.long() - 1).clamp(0, rows - 1)


def timed(work, device, seconds):
    """Median time of one call, in samples of several calls between two synchronizations."""
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    for _ in range(3):
        work()
    wait()
    begin = time.perf_counter()
    work()
    wait()
    calls = max(1, math.ceil(0.02 / max(time.perf_counter() - begin, 1e-6)))
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        for _ in range(calls):
            work()
        wait()
        times.append((time.perf_counter() - begin) / calls)
    return sorted(times)[len(times) // 2]


def tell(name, dtype, seconds, lookups, dim):
    row = dim * (2 if dtype == torch.float16 else 4)
    print(json.dumps({"case": name, "dtype": "f16" if dtype == torch.float16 else "f32", "time": seconds,
                      "lookups_rate": lookups / seconds, "bandwidth": lookups * row / seconds}), flush=True)


def resident(asked, device, dtype):
    bags, lookups, dim = 8192, 26, 128
    bag = torch.nn.EmbeddingBag(asked.rows, dim, mode="sum").to(device, dtype)
    ids = zipf(asked.rows, bags * lookups, 1.05, 1).view(bags, lookups).to(device)
    tell("resident", dtype, timed(lambda: bag(ids), device, asked.seconds), bags * lookups, dim)


def many_tables(asked, device, dtype):
    bags, dim, tables, rows = 4096, 128, asked.tables, asked.table_rows
    ids = zipf(rows, bags * tables, 1.05, 1).view(bags, tables)
    modules = [torch.nn.EmbeddingBag(rows, dim, mode="sum").to(dtype) for _ in range(tables)]
    columns = [ids[:, t : t + 1].contiguous() for t in range(tables)]
    if device.type == "cuda":
        sums = torch.empty(tables, bags, dim, dtype=dtype).pin_memory()

        def on_host():
            for t, module in enumerate(modules):
                sums[t].copy_(module(columns[t]))
            return sums.to(device, non_blocking=True)

        tell("tables_on_host", dtype, timed(on_host, device, asked.seconds), bags * tables, dim)
    modules = [module.to(device) for module in modules]
    there = [c.to(device) for c in columns]
    work = lambda: [module(c) for module, c in zip(modules, there)]
    tell("tables_resident modules", dtype, timed(work, device, asked.seconds), bags * tables, dim)
    fused = torch.nn.EmbeddingBag.from_pretrained(torch.cat([m.weight.detach() for m in modules]), mode="sum")
    del modules
    all_ids = (ids + torch.arange(tables) * rows).reshape(-1, 1).to(device)
    tell("tables_resident fused", dtype, timed(lambda: fused(all_ids), device, asked.seconds), bags * tables, dim)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--table-rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=2)
    asked = parser.parse_args()
    device = torch.device(asked.device)
    with torch.no_grad():
        for dtype in (torch.float32, torch.float16):
            for part in (resident, many_tables):
                try:
                    part(asked, device, dtype)
                except RuntimeError as problem:  # a type that this torch has no kernel for
                    print(json.dumps({"case": part.__name__, "dtype": str(dtype), "problem": str(problem)[:200]}), flush=True)


if __name__ == "__main__":
    main()
