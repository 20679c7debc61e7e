"""Whether recorded programs end as they do alone, and what recordings with all defaults hold: many at once, then programs of
1, 4 and 20 seconds alone on the GPU, whose own times of steps are compared with what the analysis finds.

Usage: python3 recorder_many.py WARPMARK OUT_FOLDER [COUNT [AT_ONCE]]
       python3 recorder_many.py --graph SECONDS     (replays a CUDA graph of 40 linear layers; prints the time of each step)
The other program is the training step of profile_overhead.py: ViT-B/16 at batch 1."""
import concurrent.futures
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from profile_overhead import facts_of, median_ms

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {"graph": [sys.executable, "-W", "ignore", os.path.abspath(__file__), "--graph"],
            "vit": [sys.executable, "-W", "ignore", os.path.join(HERE, "profile_overhead.py"), "--train"]}
LONG_ENOUGH = "14"  # for all windows


def graph(seconds):
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(40)]).cuda().eval()
    batch = torch.randn(64, 512, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                model(batch)
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            result = model(batch)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.time()
        captured.replay()
        torch.cuda.synchronize()
        times.append((begin, time.time() - begin))
    print(json.dumps({"times": times, "sum": float(result.sum())}))


def run(words):
    return subprocess.run(words, capture_output=True, text=True)


def answer_of(process):
    """What the program printed, without its times; None if it did not come that far."""
    try:
        return {k: v for k, v in json.loads(process.stdout.splitlines()[-1]).items() if k != "times"}
    except (IndexError, ValueError):
        return None


def times_of(process):
    return json.loads(process.stdout.splitlines()[-1])["times"]


def analysis_of(warpmark, out):
    process = run([warpmark, "analyze", out, "--json", out + ".json"])
    if process.returncode != 0:
        return {"steps": 0, "step_ms": float("nan"), "rc": process.returncode}
    analysis = json.load(open(out + ".json"))
    return {**analysis["session"], "rc": 0, "top": [(f["rule"], round(f["severity"], 2)) for f in analysis["findings"][:2]]}


def many(warpmark, folder, count, at_once):
    rows = []
    for name, program in PROGRAMS.items():
        alone = run(program + ["1"])

        def one(number):
            out = f"{folder}/{name}{number}.wmrec"
            process = run([warpmark, "profile", "--out", out, "--", *program, LONG_ENOUGH])
            same = process.returncode == 0 and answer_of(process) is not None and answer_of(process) == answer_of(alone)
            if not same:
                print(f"{name} {number}: exit {process.returncode}: {process.stderr[-700:]}", flush=True)
            facts = facts_of(warpmark, out) if os.path.exists(out) else {}
            found = analysis_of(warpmark, out) if os.path.exists(out) else {"steps": 0, "step_ms": float("nan")}
            for file in (out, out + ".sqlite", out + ".json"):
                if number > 0 and os.path.exists(file):
                    os.remove(file)
            return same, facts, found

        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            results = list(pool.map(one, range(count)))
        windows = [int(facts.get("inflation_windows", 0)) for _, facts, _ in results]
        costs = [float(facts["inflation"]) * 100 for _, facts, _ in results if "inflation" in facts]
        again = sum("recorded_again" in facts for _, facts, _ in results)
        steps = [found["step_ms"] for _, _, found in results if found["steps"] > 2]
        rows.append(f"| {name} | {count} | {sum(same for same, _, _ in results)} | {sum(w == 5 for w in windows)} | {again} | "
                    f"{statistics.median(costs or [float('nan')]):.1f} ({min(costs, default=0):.1f} to {max(costs, default=0):.1f}) % | "
                    f"{len(steps)} | {min(steps, default=0):.3f} to {max(steps, default=0):.3f} ms |")
    print(f"MANY, {at_once} at once\n| program | recordings | ended as alone | with all five windows | recorded again | cost named | "
          "steps found | step |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows), flush=True)


def single(warpmark, folder):
    rows = []
    for name, lengths in (("vit", (1, 4, 20)), ("graph", (1, 4, 20))):
        alone = median_ms(times_of(run(PROGRAMS[name] + ["4"])))
        for seconds in lengths:
            out = f"{folder}/{name}_{seconds}s.wmrec"
            process = run([warpmark, "profile", "--out", out, "--", *PROGRAMS[name], str(seconds)])
            if process.returncode != 0 or not os.path.exists(out):
                print(process.stderr[-600:])
                rows.append(f"| {name} | {seconds} s | {process.returncode} | nothing | | | | | | |")
                continue
            facts, found, times = facts_of(warpmark, out), analysis_of(warpmark, out), times_of(process)
            begin = int(facts["recording_begin_ns"]) * 1e-9
            end = int(facts.get("recording_end_ns", 9e18)) * 1e-9
            first, last = times[0][0], times[-1][0] + times[-1][1]
            on, before = median_ms(times, begin, end), median_ms(times, 0, begin)
            after = median_ms(times, end + 9.5)
            named = [float(facts.get(f"inflation{which}", "nan")) * 100 for which in ("", "_low", "_high")]
            rows.append(f"| {name} | {seconds} s | {process.returncode} | {begin - first:.2f} to {min(end, last) - first:.2f} s of "
                        f"{last - first:.2f} | {found['steps']} | {found['step_ms']:.3f} ms | {on:.3f} ms | {alone:.3f}, {before:.3f}, "
                        f"{after:.3f} ms | {(on / alone - 1) * 100:.1f}, {(on / before - 1) * 100:.1f} % | "
                        f"{named[0]:.1f} ({named[1]:.1f} to {named[2]:.1f}) % |")
            print(rows[-1], facts.get("steps_found_by"), facts.get("launches_per_step"), facts.get("recorded_again"), found.get("top"),
                  process.stderr.splitlines()[-2:], flush=True)
    print("SINGLE, all defaults; times since the first step that the program timed\n| program | length | exit | recorded | steps "
          "found | step, by the analysis | step while recorded, by the program | alone, before, after | slower than alone, before | "
          "the recording says |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows), flush=True)


def nsys(warpmark, folder):
    if shutil.which("nsys") is None and not os.path.exists("/usr/local/cuda/bin/nsys"):
        process = run([warpmark, "profile", "--nsys", "--", "true"])
        print(f"NSYS is not installed here: exit {process.returncode}, {process.stderr.strip()}", flush=True)
        return
    out = f"{folder}/nsys.sqlite"
    process = run([warpmark, "profile", "--nsys", "--out", out, "--", *PROGRAMS["graph"], "2"])
    print(f"NSYS: exit {process.returncode}, {process.stderr[-300:]}", analysis_of(warpmark, out), flush=True)


def main(warpmark, folder, count=24, at_once=8):
    single(warpmark, folder)
    nsys(warpmark, folder)
    many(warpmark, folder, int(count), int(at_once))


if __name__ == "__main__":
    if sys.argv[1] == "--graph":
        graph(float(sys.argv[2]))
    else:
        main(*sys.argv[1:])
