"""Records whole programs (JAX, native CUDA) that have one known bottleneck each with `warpmark profile`, and times
what removing it really gives: what record_traces.py does with the PyTorch profiler, for programs without it.

A program lists its cases (`PROGRAM list`, one JSON object a line) and runs one variant for some seconds (`PROGRAM run
NAME broken|fixed SECONDS`, whose last line has "blocks_ms"). Both variants run in turns, each in a process of its own;
then the broken one runs under `warpmark profile`. Written: NAME.wmrec a case, labels.json for bench/score_analysis.py,
and details.json (every block time, the recorder's words, failures).

Usage: python3 record_programs.py --warpmark BIN --out DIR [--gpus 0,1] [--only REGEX] [--rounds 2] [--seconds 2]
       [--record 10] [--deadline SECONDS] PROGRAM ...     (PROGRAM as one word: "python3 jax_cases.py")"""
import argparse
import json
import os
import queue
import re
import shlex
import statistics
import subprocess
import threading
import time

TIMEOUT_S = 90


def cases_of(program):
    command = [*shlex.split(program), "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return [json.loads(line) for line in listed.stdout.splitlines() if line.startswith("{")]


class Lane:
    """One GPU, one process at a time."""

    def __init__(self, arguments, gpu):
        self.arguments, self.environment = arguments, os.environ | {"CUDA_VISIBLE_DEVICES": gpu}

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
                              env=self.environment)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
        return done

    def timed(self, program, name, variant):
        command = [*shlex.split(program), "run", name, variant, str(self.arguments.seconds)]
        return json.loads(self.run(command).stdout.strip().splitlines()[-1])["blocks_ms"]

    def record(self, program, case):
        name, healthy = case["name"], case["injected"] == "none"
        blocks = {"broken": [], "fixed": []}
        for _ in range(self.arguments.rounds):
            for variant in ("broken",) if healthy else ("broken", "fixed"):
                blocks[variant] += self.timed(program, name, variant)
        path = os.path.join(self.arguments.out, name + ".wmrec")
        command = [*shlex.split(program), "run", name, "broken", str(self.arguments.record)]
        said = self.run([self.arguments.warpmark, "profile", "--out", path, "--", *command])
        step = statistics.median(blocks["broken"])
        fixed = statistics.median(blocks["fixed"]) if blocks["fixed"] else None
        label = case | {"files": [name + ".wmrec"], "step_ms": round(step, 4),
                        "fixed_step_ms": fixed and round(fixed, 4),
                        "measured_speedup": fixed and round(step / fixed, 3)}
        return label, {"name": name, "blocks_ms": blocks, "recorder": said.stderr[-3000:] + said.stdout[-3000:]}


def work(lane, jobs, labels, details, deadline):
    while True:
        try:
            program, case = jobs.get_nowait()
        except queue.Empty:
            return
        if time.time() > deadline:
            print(f"{case['name']}: not run, out of time", flush=True)
            continue
        began = time.time()
        try:
            label, detail = lane.record(program, case)
            labels.append(label)
            details.append(detail)
            print(f"{label['name']}: {label['step_ms']} -> {label['fixed_step_ms']} ms, x{label['measured_speedup']}, "
                  f"{time.time() - began:.0f} s", flush=True)
        except (RuntimeError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as error:
            details.append({"name": case["name"], "error": str(error)[-3000:]})
            print(f"{case['name']}: FAILED {str(error)[-300:]}", flush=True)
        for name, value in (("labels.json", labels), ("details.json", details)):
            with open(os.path.join(lane.arguments.out, name), "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--warpmark", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--gpus", default="0", help="indices, one lane of cases each")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=2, help="how often the variants are timed in turns")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--record", type=float, default=10, help="seconds the recorded program runs")
    parser.add_argument("--deadline", type=float, default=1e9, help="no case starts after so many seconds")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    jobs, labels, details = queue.Queue(), [], []
    for program in arguments.programs:
        for case in cases_of(program):
            if re.search(arguments.only, case["name"]):
                jobs.put((program, case))
    deadline = time.time() + arguments.deadline
    lanes = [threading.Thread(target=work, args=(Lane(arguments, gpu), jobs, labels, details, deadline))
             for gpu in arguments.gpus.split(",")]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


if __name__ == "__main__":
    main()
