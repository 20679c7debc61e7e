#!/usr/bin/env python3
"""Each model's step by `warpmark run` beside a plain loop around the same network, in turns, on one device.

    bench/gpu_models.py WARPMARK OUT [--device cuda:0] [--preset base] [--python python3] [--models a,b] [--turns 2]
                        [--seconds 480]

The plain loop is what a person writes: no protocol, no knob code, no marks; half a second of steps between
two synchronizations, as in warpmark's windows. Each side runs --turns times, in turns, every run a fresh process. OUT takes what each printed. The table comes last. Ends within
--seconds; what was not reached is named.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src" / "workers" / "models"

PLAIN = """
import contextlib, json, math, sys, time
sys.path.insert(0, {sources!r})
import torch, wm_networks, wm_tasks
name, config, batch, device, precision, last, seconds = json.loads({case!r})
torch.manual_seed(1)
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.allow_tf32 = False
torch.set_flush_denormal(True)
model = wm_networks.NETWORKS[name](config).to(device).train()
if last:
    model = model.to(memory_format=torch.channels_last)
cuda = device.startswith("cuda")
pool = wm_tasks.pool(name, config, batch, 1)
if cuda:
    pool = [([t.pin_memory() for t in i], t.pin_memory()) for i, t in pool]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
wait = torch.cuda.synchronize if cuda else (lambda: None)
def step(i):
    inputs, target = pool[i % len(pool)]
    inputs, target = [t.to(device, non_blocking=True) for t in inputs], target.to(device, non_blocking=True)
    if last:
        inputs = [t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs]
    optimizer.zero_grad(set_to_none=True)
    autocast = torch.autocast(device.split(":")[0], dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    with autocast:
        out = model(*inputs)
    wm_tasks.loss_of(name, out.float(), target).backward()
    optimizer.step()
for i in range(10):
    step(i)
wait()
begin = time.perf_counter()
for i in range(5):
    step(i)
wait()
count = max(1, math.ceil(0.5 / ((time.perf_counter() - begin) / 5)))  # as long as warpmark's windows
times, end = [], time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 5:
    begin = time.perf_counter()
    for i in range(count):
        step(i)
    wait()
    times.append((time.perf_counter() - begin) / count)
print(json.dumps(sorted(times)[len(times) // 2]))
"""


def sizes_of(warpmark, model, preset):
    """The sizes that warpmark itself builds from, as its `list models` would: read from the shapes in the source."""
    source = SOURCES.parent.parent / "workloads" / "models" / "model_shape.cpp"
    import re

    found = re.search(r'\{"%s",\s*"%s",\s*(\d+),\s*\{(.*?)\}\}' % (model, preset), source.read_text(), re.S)
    if found is None:
        sys.exit("no preset %s of %s in %s" % (preset, model, source))
    sizes = {name: int(value) for name, value in re.findall(r'\{"(\w+)",\s*(\d+)', "{" + found.group(2))}
    if "most_rows" in sizes:
        tables = re.search(r"kCriteoRows\[\] = \{(.*?)\}", source.read_text(), re.S)
        sizes["rows"] = [min(int(rows), sizes["most_rows"]) for rows in re.findall(r"\d+", tables.group(1))]
    return int(found.group(1)), sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("warpmark")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--preset", default="base")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--models", default="resnet50,bert,gpt2,vit")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=480)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    begin, rows = time.monotonic(), []
    precision = "bf16" if asked.device.startswith("cuda") else "f32"

    def left():
        return asked.seconds - (time.monotonic() - begin)

    def run(name, words):
        if left() < 5:
            return None
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=left())
        except subprocess.TimeoutExpired:
            return None
        (asked.out / (name + ".txt")).write_text(done.stdout + done.stderr)
        return done.stdout if done.returncode == 0 else None

    for model in asked.models.split(","):
        batch, sizes = sizes_of(asked.warpmark, model, asked.preset)
        last = model == "resnet50" and precision == "bf16"
        case = json.dumps([model, sizes, batch, asked.device, precision, last, 4])
        program = PLAIN.format(sources=str(SOURCES), case=case)
        times = {"plain": [], "warpmark": []}
        for turn in range(asked.turns):
            said = run("%s-plain-%d" % (model, turn), [asked.python, "-c", program])
            if said:
                times["plain"].append(float(said.strip().split("\n")[-1]))
            file = asked.out / ("%s-%d.json" % (model, turn))
            words = [asked.warpmark, "run", model, "--device", asked.device, "--no-store", "--no-ceilings", "--rounds", "1", "--set", "peak=no"]
            for setting in ("preset=" + asked.preset, "precision=" + precision, "python=" + asked.python):
                words += ["--set", setting]
            words += ["--set", "channels_last=yes"] if last else []
            run("%s-warpmark-%d" % (model, turn), words + ["--json", str(file)])
            if file.exists():
                for result in json.loads(file.read_text())["runs"]:
                    for metric in result.get("metrics", []):
                        if metric["id"] == "time":
                            times["warpmark"].append(metric["summary"]["median"] if "summary" in metric else metric["median"])
        rows.append((model, batch, times))
    print("%-10s %14s %14s %9s" % ("model", "plain samp/s", "warpmark", "ratio"))
    for model, batch, times in rows:
        if not times["plain"] or not times["warpmark"]:
            print("%-10s not measured: see %s" % (model, asked.out))
            continue
        plain, ours = batch / min(times["plain"]), batch / min(times["warpmark"])
        print("%-10s %14.1f %14.1f %9.3f" % (model, plain, ours, ours / plain))


if __name__ == "__main__":
    main()
