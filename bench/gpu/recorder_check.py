"""What the recorder and the monitor find on a real GPU: steps with and without NVTX ranges, what records of memory and
waits cost, metrics of kernels from ncu, what happens beside torch.profiler, traffic as NVML counts it, and what monitor
itself takes of a core.

Usage: python3 recorder_check.py WARPMARK OUT_FOLDER      (after profile_overhead.py, whose training step it uses)
       python3 recorder_check.py --copy SECONDS            (copies to the GPU; prints B/s)"""
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import time

from profile_overhead import facts_of, median_ms

TRAIN = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile_overhead.py"), "--train"]


def copy(seconds):
    import torch
    source = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    target = torch.empty_like(source, device="cuda")
    torch.cuda.synchronize()
    begin, count = time.time(), 0
    while time.time() - begin < seconds:
        for _ in range(8):
            target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
        count += 8
    print(count * source.numel() / (time.time() - begin))


def profile(warpmark, out, options, program, tail=900):
    run = subprocess.run([warpmark, "profile", "--out", out, *options, "--", *program], capture_output=True, text=True)
    print("exit", run.returncode, "|", run.stderr[-tail:])
    return run


def analysis_of(warpmark, out):
    run = subprocess.run([warpmark, "analyze", out, "--json", out + ".json"], capture_output=True, text=True)
    print(run.stdout[:2500], run.stderr[-300:])
    return json.load(open(out + ".json"))


def steps(warpmark, folder):
    for name, more in (("kernels", []), ("ranges", ["--ranges"])):
        out = f"{folder}/steps_{name}.wmrec"
        run = profile(warpmark, out, ["--warmup-steps", "100", "--steps", "50", "--duration", "1s"], TRAIN + ["16", *more])
        facts = facts_of(warpmark, out)
        times = json.loads(run.stdout.splitlines()[-1])["times"]
        window = [int(facts[f"recording_{side}_ns"]) * 1e-9 for side in ("begin", "end")]
        with sqlite3.connect(out + ".sqlite") as database:
            ranges = database.execute("select count(*) from events where kind = 'annotation'").fetchone()[0]
        inside = sum(window[0] <= begin <= window[1] for begin, _ in times)
        session = analysis_of(warpmark, out)["session"]
        print(f"STEPS by {name}: found by {facts.get('steps_found_by')}, {facts.get('launches_per_step')} launches a step; "
              f"the program made {inside} steps in the window and {sum(b < window[0] for b, _ in times)} before it; ranges "
              f"recorded: {ranges}; the analysis sees {session['steps']} steps of {session['step_ms']} ms; inflation "
              f"{facts.get('inflation')}; the program's median while recorded {median_ms(times, *window):.2f} ms, around "
              f"{median_ms(times, window[0] - 1, window[1] + 9, outside=True):.2f} ms", flush=True)


def extra_records(warpmark, folder):
    for flag in ("--memory", "--waits"):
        out = f"{folder}/extra.wmrec"
        run = profile(warpmark, out, ["--delay", "4s", "--duration", "2s", flag], TRAIN + ["15"], 300)
        facts = facts_of(warpmark, out)
        times = json.loads(run.stdout.splitlines()[-1])["times"]
        begin, end = (int(facts[f"recording_{side}_ns"]) * 1e-9 for side in ("begin", "end"))
        on, off = median_ms(times, begin, end), median_ms(times, begin - 1.1, end + 7.2, outside=True)
        print(f"EXTRA {flag}: {off:.2f} -> {on:.2f} ms, {(on / off - 1) * 100:.1f} % slower; says {facts.get('inflation')}",
              flush=True)


def kernel_metrics(warpmark, folder):
    out = f"{folder}/ncu.wmrec"
    began = time.time()
    profile(warpmark, out, ["--warmup-steps", "50", "--steps", "10", "--duration", "1s", "--ncu", "3"], TRAIN + ["14"], 1500)
    subprocess.run([warpmark, "convert", out, "--to", "sqlite", "--out", out + ".sqlite"], capture_output=True)
    with sqlite3.connect(out + ".sqlite") as database:
        rows = database.execute("select substr(k.name, 1, 60), k.grid, count(*), sum(k.event >= 0), avg(m.value), avg(r.duration_ns) "
                                "from kernel_profiles k left join kernel_metrics m on m.kernel = k.id and "
                                "m.id = 'gpu__time_duration.sum' left join raw_events r on r.rank = k.rank and r.id = k.event "
                                "group by 1, 2 order by 3 desc limit 12").fetchall()
    print(f"NCU in {time.time() - began:.0f} s: kernel, grid, launches measured, joined, ns by ncu, ns on the timeline")
    for row in rows:
        print("   ", row, flush=True)
    analysis_of(warpmark, out)


def beside_torch_profiler(warpmark, folder):
    out = f"{folder}/conflict.wmrec"
    print("CONFLICT: the program uses torch.profiler itself")
    run = profile(warpmark, out, ["--delay", "1s", "--duration", "4s"], TRAIN + ["7", "--torch"])
    print("    the program's own profile:", run.stdout[-120:].strip() if run.returncode else "as without us", flush=True)


def monitor(warpmark, folder):
    log = f"{folder}/monitor.jsonl"
    program = subprocess.Popen(TRAIN + ["66"], stdout=subprocess.DEVNULL)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.time()
    subprocess.run([warpmark, "monitor", "--duration", "60s", "--jsonl", log], check=True)
    wall, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    looks = sum(1 for _ in open(log))
    print(f"MONITOR: {spent:.3f} s of CPU time in {wall:.1f} s, {looks} looks: {spent / wall * 100:.2f} % of a core", flush=True)
    program.wait()


def traffic(warpmark, folder):
    log = f"{folder}/traffic.jsonl"
    program = subprocess.Popen([sys.executable, __file__, "--copy", "8"], stdout=subprocess.PIPE, text=True)
    time.sleep(6)
    subprocess.run([warpmark, "monitor", "--duration", "5s", "--jsonl", log], check=True)
    states = [json.loads(line)["gpus"][0] for line in open(log)][1:]
    print(subprocess.run([warpmark, "monitor", "--once"], capture_output=True, text=True).stdout)
    received = [state.get("pcie_received") for state in states if state.get("pcie_received")]
    print(f"TRAFFIC: the program copied {float(program.communicate()[0]) / 1e9:.1f} GB/s; NVML's counters say "
          f"{statistics.median(received) / 1e9 if received else float('nan'):.1f} GB/s; {json.dumps(states[-1])}", flush=True)


def main(warpmark, folder):
    for part in (steps, kernel_metrics, extra_records, beside_torch_profiler, traffic, monitor):
        try:
            part(warpmark, folder)
        except Exception as error:  # one part that fails must not lose the others
            print(f"{part.__name__} failed: {error!r}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--copy":
        copy(float(sys.argv[2]))
    else:
        main(sys.argv[1], sys.argv[2])
