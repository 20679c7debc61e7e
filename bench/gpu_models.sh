#!/usr/bin/env bash
# gpu_models.sh WARPMARK OUT: models and what feeds them on one GPU: ResNet-50 and GPT-2 in PyTorch, twice; lookups in
# cached tables over sizes of the cache and how often its rows are chosen; embedding compared with torch's EmbeddingBag; what the recorder saw of a step beside what the worker told. Every step has a time-out of its own, and
# all end within LIMIT seconds (170). Raw JSON and what was printed stay in OUT; the tables come last.
# PYTHON (python3), DEVICE (cuda:0) and PRESET (base) name what is measured.
set -uo pipefail

kWarpmark=$(readlink -f "$1")
kOut=$(mkdir -p "$2" && readlink -f "$2")
readonly kWarpmark kOut
readonly kPython=${PYTHON:-python3} kDevice=${DEVICE:-cuda:0}
readonly kDeadline=$((SECONDS + ${LIMIT:-170}))
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
# shellcheck source=bench/kept.sh
source kept.sh
readonly kRun=("$kWarpmark" run --device "$kDevice" --rounds 1 --no-store)

machine() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  "${CXX:-c++}" --version | head -n 1
  "$kPython" -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda)'
  "$kWarpmark" --version
}

lookups() {
  kept embedding 30 "${kRun[@]}" embedding --json "$kOut/embedding.json"
  kept embedding_bag 45 "$kPython" embedding_bag.py --device "$kDevice" --seconds 1
  kept cache_sizes 60 "${kRun[@]}" embedding_cache --sweep dtype=f32,f16 --sweep cache=0.01,0.1,0.5,1 --json "$kOut/cache_sizes.json"
  kept cache_refresh 45 "${kRun[@]}" embedding_cache --no-ceilings --set drift=0.3 --sweep cache=0.01,0.1 \
    --sweep refresh=0,4,16 --json "$kOut/cache_refresh.json"
}

# Batches assembled by the processors and copied to the GPU.
loader() {
  kept loader 30 "${kRun[@]}" loader --no-ceilings --set form=arrays --set samples=1024 --set batch=64 --sweep workers=0,4,12 \
    --sweep memory=pageable,pinned --set step=0.02 --json "$kOut/loader.json"
}

# NAME MODEL [--set K=V ...]
model() {
  local name=$1 network=$2
  shift 2
  kept "$name" 60 "${kRun[@]}" "$network" --no-ceilings --set "preset=${PRESET:-base}" --set precision=bf16 --set peak=no \
    --set "python=$kPython" "$@" --json "$kOut/$name.json"
}

models() {
  model gpt2_1 gpt2
  model resnet50_1 resnet50 --set channels_last=yes
  model resnet50_2 resnet50 --set channels_last=yes
  model gpt2_2 gpt2
}

tables() {
  "$kPython" - "$kOut" <<'PYTHON'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])


def runs(name):
    try:
        return json.loads((out / (name + ".json")).read_text())["runs"]
    except (OSError, ValueError, KeyError):
        return []


def median(run, metric):
    found = [m["median"] for m in run.get("metrics", []) if m["id"] == metric]
    return found[0] if found else None


def shown(value, scale=1.0, form="%.4g"):
    return "-" if value is None else form % (value * scale)


def row(*cells):
    print("  ".join(("%-24s" if i == 0 else "%12s") % c for i, c in enumerate(cells)))


def why(run):
    return "" if run["outcome"] == "passed" else run["outcome"] + ": " + (run.get("reason") or "")


print("\nModels (bf16, base)")
row("run", "ms a step", "samples/s", "mfu", "GB at peak", "cross-check")
for file in sorted(out.glob("*_*_*.json")):
    for run in runs(file.stem):
        notes = {note["name"]: note["text"] for note in run.get("notes", [])}
        row(file.stem, shown(median(run, "time"), 1e3), shown(median(run, "samples_rate")), shown(median(run, "mfu")),
            shown(median(run, "memory.peak_allocated"), 1e-9), "  " + notes.get("cross-check", "-"), why(run))

print("\nloader (224 x 224 pictures, batches of 64, copied to the GPU; hidden behind a step of 20 ms)")
row("case", "samples/s", "ms a batch", "ms of copy", "hidden")
for run in runs("loader"):
    p = run["params"]
    row("%s workers %s" % (p["memory"], p["workers"]), shown(median(run, "samples_rate")), shown(median(run, "batch_time"), 1e3),
        shown(median(run, "copy_time"), 1e3), shown(median(run, "hidden")), why(run))

print("\nembedding (1 table on the GPU, 26 rows a bag) beside torch.nn.EmbeddingBag")
row("case", "us", "G lookups/s", "GB/s", "of peak")
bags = []
try:
    bags = [json.loads(line) for line in (out / "embedding_bag.txt").read_text().splitlines() if line.startswith("{")]
except OSError:
    pass
for run in runs("embedding"):
    if run["workload"] == "embedding":
        lookups = run["params"]["bags"] * run["params"]["lookups"]
        time = median(run, "time")
        row("warpmark " + run["params"]["dtype"], shown(time, 1e6), shown(time and lookups / time, 1e-9),
            shown(median(run, "bandwidth"), 1e-9), shown(run.get("peak", {}).get("share")), why(run))
for bag in bags:
    name = "torch " + bag["dtype"] + " " + bag["case"]
    if "problem" in bag:
        print(name, bag["problem"])
    else:
        row(name, shown(bag["time"], 1e6), shown(bag["lookups_rate"], 1e-9), shown(bag["bandwidth"], 1e-9))

print("\nembedding_cache (26 tables in host memory)")
row("case", "us a batch", "G lookups/s", "hits", "best hits", "cache GB/s", "host GB/s", "choosing", "of peak")
for name in ("cache_sizes", "cache_refresh"):
    for run in runs(name):
        if run["workload"] != "embedding_cache":
            row(run["workload"], shown(median(run, "time"), 1e6), "", "", "", "", shown(median(run, "bandwidth"), 1e-9))
            continue
        p = run["params"]
        row("%s %.4g refresh %s drift %s" % (p["dtype"], p["cache"], p["refresh"], p["drift"]),
            shown(median(run, "batch_time"), 1e6), shown(median(run, "lookups_rate"), 1e-9), shown(median(run, "hit_rate")),
            shown(median(run, "best_hit_rate")), shown(median(run, "cache_bandwidth"), 1e-9),
            shown(median(run, "host_bandwidth"), 1e-9), shown(median(run, "choosing")),
            shown(run.get("peak", {}).get("share")), why(run))
PYTHON
}

machine 2>&1 | tee "$kOut/machine.txt"
lookups
models
loader
tables 2>&1 | tee "$kOut/tables.txt"
