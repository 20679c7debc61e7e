"""What recording costs: a launch-bound training step (ViT-B/16, batch 1: some 800 kernels in about 20 ms) timed alone, under
`warpmark profile`, and under torch.profiler, in turns on the same machine.

Usage: python3 profile_overhead.py WARPMARK OUT_FOLDER               (the driver)
       python3 profile_overhead.py --train SECONDS [--torch|--ranges] (one run; prints the time of each step)"""
import json
import sqlite3
import statistics
import subprocess
import sys
import time


def train(seconds, use_torch_profiler, ranges):
    import torch
    import torchvision
    torch.backends.cuda.matmul.allow_tf32 = True
    model = torchvision.models.vit_b_16(weights=None).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    images, labels = torch.randn(1, 3, 224, 224, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()

    for _ in range(20):
        step()
    times = []

    def steps_for(duration):
        end = time.monotonic() + duration
        while time.monotonic() < end:
            begin = time.time()
            if ranges:
                torch.cuda.nvtx.range_push(f"step {len(times)}")
            step()
            if ranges:
                torch.cuda.nvtx.range_pop()
            times.append((begin, time.time() - begin))

    if use_torch_profiler:
        steps_for(seconds / 3)
        begin = time.time()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]):
            steps_for(seconds / 3)
            end = time.time()
        steps_for(seconds / 3)
        print(json.dumps({"window": [begin, end], "times": times}))
    else:
        steps_for(seconds)
        print(json.dumps({"times": times}))


def median_ms(times, begin=0.0, end=float("inf"), outside=False):
    chosen = [length for start, length in times if (begin <= start and start + length <= end) != outside]
    return statistics.median(chosen) * 1e3 if chosen else float("nan")


def record(warpmark, train, out):
    """Medians of the step in ms while it is recorded and outside of all windows, and the cost that the recording names."""
    run = subprocess.run([warpmark, "profile", "--delay", "5s", "--duration", "2s", "--out", out, "--", *train, "21"],
                         capture_output=True, text=True)
    print(run.stderr[-600:])
    facts = facts_of(warpmark, out)
    begin, end = (int(facts[f"recording_{side}_ns"]) * 1e-9 for side in ("begin", "end"))
    times = json.loads(run.stdout.splitlines()[-1])["times"]
    named = [float(facts[f"inflation{which}"]) * 100 for which in ("", "_low", "_high")]
    before, after = median_ms(times, 0, begin - 2.1), median_ms(times, end + 9.5, float("inf"))
    print(f"before {before:.2f} ms, after {after:.2f} ms, {({k: v for k, v in facts.items() if k.startswith('infl')})}")
    return [median_ms(times, begin, end), before, after, *named]


def facts_of(warpmark, path):
    """The recording's own facts, through its SQLite export."""
    subprocess.run([warpmark, "convert", path, "--to", "sqlite", "--out", path + ".sqlite"], check=True, capture_output=True)
    with sqlite3.connect(path + ".sqlite") as database:
        return dict(database.execute("select key, value from metadata"))


def main(warpmark, folder):
    train = [sys.executable, "-W", "ignore", __file__, "--train"]
    rows = []
    for turn in range(3):
        plain = json.loads(subprocess.run(train + ["7"], capture_output=True, text=True).stdout.splitlines()[-1])
        ours = record(warpmark, train, f"{folder}/vit{turn}.wmrec")
        peer = json.loads(subprocess.run(train + ["7", "--torch"], capture_output=True, text=True).stdout.splitlines()[-1])
        rows.append((median_ms(plain["times"]), *ours, median_ms(peer["times"], *peer["window"]),
                     median_ms(peer["times"], *peer["window"], outside=True)))
        print(turn + 1, ["%.2f" % value for value in rows[-1]], flush=True)
    print("| turn | plain | before | recorded | after | slower | slower, as the recording says (from, to) | torch.profiler on "
          "| around it |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for turn, (plain, on, off, after, typical, low, high, peer_on, peer_off) in enumerate(rows):
        print(f"| {turn + 1} | {plain:.2f} ms | {off:.2f} ms | {on:.2f} ms | {after:.2f} ms | {(on / off - 1) * 100:.1f} % | "
              f"{typical:.1f} % ({low:.1f}, {high:.1f}) | {peer_on:.2f} ms | {peer_off:.2f} ms |")


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(float(sys.argv[2]), "--torch" in sys.argv, "--ranges" in sys.argv)
    else:
        main(sys.argv[1], sys.argv[2])
