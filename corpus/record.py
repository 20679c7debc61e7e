#!/usr/bin/env python3
"""Records programs of the corpus on a machine with GPUs: times each before and after its cure without a profiler, then
records the flawed one, and writes labels.json beside the profiles, as bench/score_analysis.py reads them.

    record.py --list                                     what there is
    record.py --check                                    do manifest and files agree? (needs no GPU)
    record.py --out DIR                                  all that this machine's GPUs can run
    record.py --out DIR --cause attention --framework jax --gpus 1
    record.py --out DIR NAME ...

PyTorch is recorded by torch.profiler, JAX by jax.profiler, others by `warpmark profile` (--warpmark PATH), which
--recorder warpmark uses for all. Run again with the same DIR, it records what is missing. A program that fails does not
stop the others; DIR/details.json says why, and the exit code is 1."""
import argparse
import concurrent.futures
import json
import os
import queue
import subprocess
import sys
import threading
import time

from shared import catalog, recorders


def main():
    if sys.argv[1:2] == ["--worker"]:
        return recorders.worker(*sys.argv[2:])
    settings = arguments()
    if settings.check:
        return check()
    manifest = catalog.read()
    programs = catalog.chosen(manifest["programs"], settings.names, settings.cause, settings.framework, settings.gpus,
                              settings.set, settings.only)
    unknown = set(settings.names) - {p["name"] for p in manifest["programs"]}
    if unknown or not programs:
        which = ", ".join(sorted(unknown)) or "fits all conditions"
        print(f"record.py: no program {which}; see --list", file=sys.stderr)
        return 2
    if settings.list:
        return show(programs)
    if settings.compile:
        return compile_all(programs, settings.jobs)
    if not settings.out:
        print("record.py: say --out DIR, the folder to write to", file=sys.stderr)
        return 2
    recording = Recording(settings)
    return recording.table(programs) if settings.table else recording.record(programs)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="only these programs")
    add("--out", help="folder to write to")
    add("--list", action="store_true", help="print the programs and stop")
    add("--check", action="store_true", help="whether manifest and files agree")
    add("--compile", action="store_true", help="compile the CUDA programs and stop")
    add("--table", action="store_true", help="print what DIR holds beside what was recorded for the manifest, and stop")
    add("--jobs", type=int, default=os.cpu_count(), help="compilations at once (default: as many as processors)")
    add("--cause", action="append", default=[], help="only this cause (a rule's id, or none: healthy); repeatable")
    add("--framework", action="append", default=[], choices=sorted(catalog.ENDINGS), help="repeatable")
    add("--gpus", type=int, choices=(1, 2), help="only programs for so many GPUs")
    add("--set", action="append", default=[], help="only this author set; repeatable")
    add("--only", default="", metavar="REGEX", help="only names that this finds")
    add("--devices", help="indices of the GPUs to use, with commas (default: all)")
    add("--per-gpu", type=int, default=1, metavar="N", help="programs at once on a GPU; more than 1 disturbs the times")
    add("--recorder", choices=("auto", "warpmark"), default="auto")
    add("--warpmark", help="the program warpmark")
    add("--time-only", action="store_true", help="time the variants and record nothing")
    add("--again", action="store_true", help="also what DIR holds already")
    add("--blocks", type=int, default=7, help="PyTorch: how often the variants are timed in turns (default 7)")
    add("--rounds", type=int, default=2, help="others: how often the variants run in turns (default 2)")
    add("--seconds", type=float, default=2, help="others: how long each of these runs is timed (default 2)")
    add("--record", type=float, default=10, help="seconds that `warpmark profile` records (default 10)")
    add("--limit", type=float, default=240, help="seconds a process may take (default 240)")
    add("--deadline", type=float, default=1e9, help="no program starts after so many seconds")
    return parser.parse_args()


def check():
    found = catalog.faults()
    lines = sum(catalog.line_count(catalog.CORPUS, path) for path in catalog.files())
    for fault in found:
        print(fault)
    print(f"{len(catalog.read()['programs'])} programs, {lines} lines, {len(found)} faults")
    return 1 if found else 0


def show(programs):
    print(f"{'program':48} {'framework':9} GPUs {'cause':17} {'gain':>6}  {'set':13} cure")
    for p in programs:
        gain = "-" if p["measured_gain"] is None else f"{p['measured_gain']:.2f}"
        print(f"{p['name']:48} {p['framework']:9} {p['gpus']:4} {p['cause']:17} {gain:>6}  {p['set']:13} "
              f"{p['cure'] or ''}")
    print(f"{len(programs)} programs")
    return 0


def compile_all(programs, jobs):
    """Each in a process of its own, as run.py would do it."""
    def compile_one(program):
        command = [sys.executable, "-c", "import sys, run; from shared import catalog; "
                   "run.compiled(catalog.named(sys.argv[1]))", program["name"]]
        done = subprocess.run(command, cwd=catalog.CORPUS, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{program['name']}: FAILED\n{done.stderr[-3000:]}", flush=True)
        return done.returncode == 0

    mine = [p for p in programs if p["framework"] == "cuda"]
    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        good = list(pool.map(compile_one, mine))
    print(f"{sum(good)} of {len(mine)} CUDA programs compiled")
    return 0 if all(good) else 1


class Recording:
    """Some programs on some GPUs; what it has is written after each."""

    def __init__(self, settings):
        self.settings, self.lock, self.failed = settings, threading.Lock(), 0
        settings.out = os.path.abspath(settings.out)
        settings.scratch = os.path.join(settings.out, "scratch")
        os.makedirs(settings.scratch, exist_ok=True)
        self.labels, self.details = self.held("labels.json"), self.held("details.json")
        self.ends = time.time() + settings.deadline

    def held(self, name):
        path = os.path.join(self.settings.out, name)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return {each["name"]: each for each in json.load(file)}

    def has(self, program):
        label = self.labels.get(program["name"])
        if label is None or self.settings.again:
            return False
        there = all(os.path.exists(os.path.join(self.settings.out, file)) for file in label["files"])
        return there and (self.settings.time_only or bool(label["files"]))

    def record(self, programs):
        devices = self.settings.devices.split(",") if self.settings.devices else found_devices()
        if not devices:
            print("record.py: no GPU (nvidia-smi lists none); say --devices if there are some", file=sys.stderr)
            return 5
        waiting = [p for p in programs if not self.has(p)]
        if len(waiting) < len(programs):
            print(f"{len(programs) - len(waiting)} of {len(programs)} are in {self.settings.out} already")
        for gpus in sorted({p["gpus"] for p in waiting}):
            mine = [p for p in waiting if p["gpus"] == gpus]
            lanes = [devices[at:at + gpus] for at in range(0, len(devices) - gpus + 1, gpus)]
            if not lanes:
                print(f"{len(mine)} programs need {gpus} GPUs, not run")
                continue
            self.in_lanes(mine, lanes * (self.settings.per_gpu if gpus == 1 else 1))
        print(f"{len(waiting) - self.failed} of {len(waiting)} done; {self.settings.out}/labels.json")
        return 1 if self.failed else 0

    def in_lanes(self, programs, lanes):
        jobs = queue.Queue()
        for program in programs:
            jobs.put(program)
        threads = [threading.Thread(target=self.work, args=(jobs, lane), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.ends = 0
            recorders.end_all()
            print(f"interrupted: {len(self.labels)} programs are in {self.settings.out}", flush=True)
            os._exit(130)

    def work(self, jobs, devices):
        while True:
            try:
                program = jobs.get_nowait()
            except queue.Empty:
                return
            if time.time() > self.ends:
                self.keep_failure(program, "not run: out of time")
                continue
            began = time.time()
            try:
                label, details = recorders.measured(program, self.settings, devices)
            except (recorders.Failed, OSError, ValueError, KeyError, IndexError, TypeError) as error:
                self.keep_failure(program, str(error) or repr(error))
                continue
            self.keep(label, details | {"seconds": round(time.time() - began, 1)})

    def keep(self, label, details):
        with self.lock:
            self.labels[label["name"]], self.details[label["name"]] = label, details
            self.write()
            print(f"{label['name']}: {label['step_ms']} -> {label['fixed_step_ms']} ms, x{label['measured_speedup']}, "
                  f"{details['seconds']} s", flush=True)

    def keep_failure(self, program, error):
        with self.lock:
            self.failed += 1
            self.details[program["name"]] = {"name": program["name"], "error": error}
            self.write()
            print(f"{program['name']}: FAILED {error.strip().splitlines()[-1]}", flush=True)

    def table(self, programs):
        """What was measured here beside what the manifest has."""
        print(f"{'program':40} {'framework':9} {'flawed ms':>10} {'cured ms':>10} {'gain':>7} {'recorded':>8}  files")
        for p in programs:
            label, details = self.labels.get(p["name"]), self.details.get(p["name"], {})
            if "error" in details:
                print(f"{p['name']:40} {p['framework']:9} FAILED {details['error'].strip().splitlines()[-1][:60]}")
            elif label:
                print(f"{p['name']:40} {p['framework']:9} {number(label['step_ms'], 10, 3)} "
                      f"{number(label['fixed_step_ms'], 10, 3)} {number(label['measured_speedup'], 7, 2)} "
                      f"{number(p['measured_gain'], 8, 2)}  {len(label['files'])}")
        return 0

    def write(self):
        for name, held in (("labels.json", self.labels), ("details.json", self.details)):
            path = os.path.join(self.settings.out, name)
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(list(held.values()), file, indent=1)
            os.replace(path + ".part", path)


def number(value, width, digits):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def found_devices():
    try:
        listed = subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True,
                                text=True, check=False, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main())
