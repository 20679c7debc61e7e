"""What recording costs: a launch-bound training step (ViT-B/16, batch 1: some 800 kernels in about 20 ms) timed alone, under
`warpmark profile`, and under torch.profiler, in turns on the same machine.

Usage: python3 profile_overhead.py WARPMARK OUT_FOLDER      (the driver)
       python3 profile_overhead.py --train SECONDS [--torch] (one run; prints the time of each step)"""
import json
import statistics
import subprocess
import sys
import time


def train(seconds, use_torch_profiler):
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
            step()
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
    """Median step in ms while it is recorded, and outside of the windows that are counted or recorded."""
    run = subprocess.run([warpmark, "profile", "--delay", "8s", "--duration", "3s", "--out", out, *options, "--", *train, "14"],
                         capture_output=True, text=True)
    print(run.stderr[-600:])
    begin, end = window_of(warpmark, out)
    times = json.loads(run.stdout.splitlines()[-1])["times"]
    return median_ms(times, begin, end), median_ms(times, begin - 1.1, end + 1.1, outside=True)


def main(warpmark, folder):
    train = [sys.executable, "-W", "ignore", __file__, "--train"]
    rows = []
    for turn in range(3):
        plain = json.loads(subprocess.run(train + ["9"], capture_output=True, text=True).stdout.splitlines()[-1])
        sampled = record(warpmark, train, f"{folder}/vit{turn}.wmrec")
        unsampled = record(warpmark, train, f"{folder}/vit{turn}_unsampled.wmrec", "--interval", "0s")
        peer = json.loads(subprocess.run(train + ["9", "--torch"], capture_output=True, text=True).stdout.splitlines()[-1])
        rows.append((median_ms(plain["times"]), *sampled, *unsampled, median_ms(peer["times"], *peer["window"]),
                     median_ms(peer["times"], *peer["window"], outside=True)))
        print(turn + 1, ["%.2f" % value for value in rows[-1]], flush=True)
    print("| turn | plain | recorded | around it | recorded, --interval 0s | around it | torch.profiler on | around it |")
    for turn, row in enumerate(rows):
        print(f"| {turn + 1} | " + " | ".join(f"{value:.2f} ms" for value in row) + " |")


def window_of(warpmark, path):
    """Begin and end of the recording in seconds since the epoch, from the recording's own bytes."""
    data = open(path, "rb").read()

    def value(key):
        at = data.find(key.encode())
        size = int.from_bytes(data[at + len(key):at + len(key) + 4], "little")
        return int(data[at + len(key) + 4:at + len(key) + 4 + size]) * 1e-9
    return value("recording_begin_ns"), value("recording_end_ns")


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(float(sys.argv[2]), "--torch" in sys.argv)
    else:
        main(sys.argv[1], sys.argv[2])
