#!/usr/bin/env python3
"""Searches of `warpmark optimize` on programs of the corpus, one lane a GPU, beside what the change by hand gains.

    bench/gpu_searches.py WARPMARK OUT [--limit 540] [--budget 175] [--lanes N] [--first GPU] [PROGRAM ... several:PROGRAM ...]

Each lane has a GPU and its share of the processors, and takes the next program as long as a search and a trial by hand fit
before --limit (seconds). What ended is in OUT at once: OUT/searches.jsonl has a line a program, OUT/NAME.json its optimization and
OUT/NAME.txt what was printed. The table comes last. Programs run side by side: gains are ratios within one lane. A `several:` program is one of
gpu_optimize.py, with several flaws, searched by that script within --several-budget; what it says is OUT/NAME.txt.
"""

import argparse
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import threading
import time

import gpu_lanes

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
OPTIONS = "--start-ahead 14 --window 1s --rounds 6 --effect 5% --alpha 0.1 --no-store".split()
HAND_S = 45  # of a trial by hand of both variants, with their starts

# Flaws that knobs can fix, by the knob that answers them; and healthy programs, in which nothing is to be found.
PROGRAMS = """
reranker_fused_kernels_off protbert_embeds_in_fp32 clip_uncached_allocations gpt2_uncached_allocations
policy_without_caching_allocator lstm_fp32 dense_autoencoder_highest passages_searched_in_fp32 wide_mlp_float64
poolformer_adamw_per_parameter gmixer_radam_per_parameter resnet18_adam_per_parameter llama_empties_cache_per_layer
gpt2_eager_infer decoder_manual_attention_infer resnet18_loader_workers0 unet_masks_turned_by_one_worker
bird_calls_made_spectra_by_three_workers segmentation_loss_unfused spectral_chain vit_activation_chain
cross_network_batch256 vit_tiny_infer_batch1 tagger_ragged_lengths_no_splitting
wide_mlp_healthy latents_2816_wide_learnt_healthy llama_prefill_healthy mistral_width_prefill_healthy
gpt2_graph_healthy resnet101_loader_healthy
""".split()


def by_hand(program, variants, environment, cpus, end):
    """Medians of blocks in ms by variant, each in a fresh process."""
    took = {}
    for variant in variants:
        words = ["taskset", "-c", cpus, sys.executable, str(CORPUS / "run.py"), program, variant, "2"]
        try:
            left = max(1, min(60, end - time.monotonic()))
            said = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=left).stdout
            took[variant] = statistics.median(json.loads(said.strip().splitlines()[-1])["blocks_ms"])
        except (subprocess.TimeoutExpired, ValueError, IndexError, KeyError):
            took[variant] = None
    return took


def environment_of(lane, asked):
    return dict(os.environ, CUDA_VISIBLE_DEVICES=str(lane), WARPMARK_DB=str(asked.out / ("%d.db" % lane)))


def search(program, lane, asked, cpus, end):
    environment = environment_of(lane, asked)
    budget = int(min(asked.budget, end - time.monotonic() - HAND_S - 10))
    optimization = asked.out / (program + ".json")
    words = ["taskset", "-c", cpus, asked.warpmark, "optimize", *OPTIONS, "--budget", "%ds" % budget, "--json", str(optimization)]
    words += ["--", sys.executable, str(CORPUS / "run.py"), program, "flawed", "10"]
    begin = time.monotonic()
    with (asked.out / (program + ".txt")).open("w") as text:
        try:
            code = subprocess.run(words, env=environment, stdout=text, stderr=text, timeout=budget + 20).returncode
        except subprocess.TimeoutExpired:
            code = 124
    seconds = time.monotonic() - begin
    hand = by_hand(program, ["flawed"] if program.endswith("_healthy") else ["flawed", "fixed"], environment, cpus, end)
    row = {"program": program, "lane": lane, "exit": code, "seconds": round(seconds, 1), "budget": budget, "hand_ms": hand}
    if optimization.exists():
        told = json.loads(optimization.read_text())
        row.update({name: told.get(name) for name in ("verdict", "measured_speedup", "plan", "cost")})
        row["steps"] = [
            {name: step.get(name) for name in ("knob", "value", "outcome", "reason", "predicted", "measured")}
            for step in told.get("steps", [])
        ]
    return row


def search_several(program, lane, asked, cpus, end):
    """By gpu_optimize.py, whose optimization and hand-made fix lie in OUT/several."""
    environment = environment_of(lane, asked)
    environment.setdefault("STEPS", "2000")
    left = end - time.monotonic() - 10
    budget = int(min(asked.several_budget, left - 25))
    words = ["taskset", "-c", cpus, sys.executable, str(CORPUS.parent / "bench" / "gpu_optimize.py"), "--full"]
    words += [asked.warpmark, "--minutes", "%.2f" % (left / 60), "--budget", str(budget)]
    words += ["--out", str(asked.out / "several"), program]
    with (asked.out / (program + ".txt")).open("w") as text:
        try:
            subprocess.run(words, env=environment, stdout=text, stderr=text, timeout=left)
        except subprocess.TimeoutExpired:
            text.write("cut at the limit\n")


def gain(row):
    """By the search, in its last test; 1 where it ended and kept nothing; None where it did not end."""
    speedup = row.get("measured_speedup")
    if speedup:
        return speedup["ratio"]
    return 1.0 if row["exit"] == 0 else None


def print_table(rows):
    print("%-46s %5s %6s %8s %8s %7s  %s" % ("program", "exit", "s", "by hand", "search", "share", "kept"))
    reached, flawed, claimed = 0, 0, []
    for row in sorted(rows, key=lambda r: r["program"]):
        hand = row["hand_ms"]
        wanted = hand["flawed"] / hand["fixed"] if hand.get("flawed") and hand.get("fixed") else None
        found = gain(row)
        share = found / wanted if found and wanted else None
        if row["program"].endswith("_healthy"):
            claimed.append(found)
        elif wanted:
            flawed += 1
            reached += share is not None and share >= 0.9
        kept = ", ".join("%s=%s" % (s["knob"], s["value"]) for s in row.get("steps") or [] if s["outcome"] == "kept")
        text = ["%.2fx" % x if x else "-" for x in (wanted, found)] + ["%.0f %%" % (100 * share) if share else "-"]
        print("%-46s %5d %6.0f %8s %8s %7s  %s" % (row["program"], row["exit"], row["seconds"], *text, kept or "-"))
    print("at 90 %% or more of the hand's: %d of %d; healthy: %s" % (reached, flawed, claimed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("warpmark")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--limit", type=float, default=540)
    parser.add_argument("--budget", type=float, default=175)
    parser.add_argument("--several-budget", type=float, default=420)
    gpu_lanes.add_options(parser)
    asked = parser.parse_intermixed_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + asked.limit
    rows, lock = [], threading.Lock()

    def lane(todo, gpu, cpus):
        while end - time.monotonic() > HAND_S + 90:
            try:
                program = todo.get_nowait()
            except queue.Empty:
                return
            if program.startswith("several:"):
                search_several(program[len("several:") :], gpu, asked, cpus, end)
                continue
            row = search(program, gpu, asked, cpus, end)
            with lock:
                rows.append(row)
                with (asked.out / "searches.jsonl").open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print("%s: exit %d after %.0f s" % (program, row["exit"], row["seconds"]), flush=True)

    gpu_lanes.run(asked, asked.programs, lane)
    print_table(rows)


if __name__ == "__main__":
    main()
