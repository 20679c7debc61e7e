"""What recording costs: launch-bound training steps timed while `warpmark profile` records them, with and without stacks of
the program's code, and under torch.profiler, in turns on the same machine. Each step is held against those around it in the
same process.

Usage: python3 profile_overhead.py WARPMARK OUT_FOLDER [TURNS] [PROGRAM ...]   (the driver; 3 turns of all programs)
       python3 profile_overhead.py --train SECONDS [PROGRAM] [--torch|--ranges]  (one run, of vit if none is named; prints the
       time of each step)

Programs: vit, ViT-B/16 at batch 1 (628 launches in 15 ms); mlp, 40 linear layers with AdamW (217 launches in 6 ms); gru, a
GRU cell stepped from Python."""
import json
import sqlite3
import statistics
import subprocess
import sys
import time


def vit(torch):
    import torchvision
    torch.backends.cuda.matmul.allow_tf32 = True
    model = torchvision.models.vit_b_16(weights=None).cuda()
    images, labels = torch.randn(1, 3, 224, 224, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    return model, lambda: torch.nn.functional.cross_entropy(model(images), labels)


def mlp(torch):
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(40)]).cuda()
    x = torch.randn(64, 256, device="cuda")
    return model, lambda: model(x).square().mean()


def gru(torch):
    cell = torch.nn.GRUCell(128, 256).cuda()
    words = torch.randn(64, 32, 128, device="cuda")

    def loss():
        state = torch.zeros(32, 256, device="cuda")
        for word in words:
            state = cell(word, state)
        return state.square().mean()

    return cell, loss


PROGRAMS = {"vit": vit, "mlp": mlp, "gru": gru}


def training_step(torch, program):
    model, loss = PROGRAMS[program](torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
        torch.cuda.synchronize()

    return step


def train(seconds, program, use_torch_profiler, ranges):
    import torch
    step = training_step(torch, program)
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


def record(warpmark, train, out, *options):
    """How much slower steps were while recorded than around it, in per cent, and what the recording says of it (low, high)."""
    run = subprocess.run([warpmark, "profile", "--delay", "4s", "--duration", "2s", *options, "--out", out, "--", *train],
                         capture_output=True, text=True)
    facts = facts_of(warpmark, out)
    begin, end = (int(facts[f"recording_{side}_ns"]) * 1e-9 for side in ("begin", "end"))
    times = json.loads(run.stdout.splitlines()[-1])["times"]
    around = median_ms([t for t in times if t[0] < begin - 2.1 or t[0] > end + 9.5])
    recorded = median_ms(times, begin, end)
    return around, (recorded / around - 1) * 100, [float(facts["inflation" + which]) * 100 for which in ("", "_low", "_high")]


def facts_of(warpmark, path):
    """The recording's own facts, through its SQLite export."""
    subprocess.run([warpmark, "convert", path, "--to", "sqlite", "--out", path + ".sqlite"], check=True, capture_output=True)
    with sqlite3.connect(path + ".sqlite") as database:
        return dict(database.execute("select key, value from metadata"))


def turn_of(warpmark, folder, program, turn):
    train = [sys.executable, "-W", "ignore", __file__, "--train"]
    around, stacks, named = record(warpmark, [*train, "18", program], f"{folder}/{program}{turn}.wmrec")
    _, bare, _ = record(warpmark, [*train, "18", program], f"{folder}/{program}{turn}b.wmrec", "--no-stacks")
    run = subprocess.run([*train, "6", program, "--torch"], capture_output=True, text=True)
    peer = json.loads(run.stdout.splitlines()[-1])
    theirs = (median_ms(peer["times"], *peer["window"]) / median_ms(peer["times"], *peer["window"], outside=True) - 1) * 100
    return around, stacks, named, bare, theirs


def main(warpmark, folder, turns="3", *programs):
    print("| program | turn | step around it | slower while recorded | as the recording says (from, to) | without stacks "
          "| torch.profiler |\n| --- | --- | --- | --- | --- | --- | --- |")
    for turn in range(int(turns)):
        for program in programs or PROGRAMS:
            around, stacks, (typical, low, high), bare, theirs = turn_of(warpmark, folder, program, turn)
            print(f"| {program} | {turn + 1} | {around:.2f} ms | {stacks:.1f} % | {typical:.1f} % ({low:.1f}, {high:.1f}) | "
                  f"{bare:.1f} % | {theirs:.1f} % |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        program = next((word for word in sys.argv[3:] if word in PROGRAMS), "vit")
        train(float(sys.argv[2]), program, "--torch" in sys.argv, "--ranges" in sys.argv)
    else:
        main(*sys.argv[1:])
