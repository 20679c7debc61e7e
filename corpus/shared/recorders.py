"""How a program is timed before and after its cure and how the flawed one is recorded, by framework: torch.profiler,
jax.profiler, or `warpmark profile` (any program). Each step of this is a process of its own with a time limit."""
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

from shared import catalog

RUN = os.path.join(catalog.CORPUS, "run.py")
RECORD = os.path.join(catalog.CORPUS, "record.py")
JAX_STEPS = 20


RUNNING = set()  # processes that would outlive this one


class Failed(Exception):
    """A process of a program failed; says how."""


def recorder_of(program, asked):
    """"profiler" where the framework has one of its own and nothing else was asked for, else "warpmark"."""
    has_own = program["framework"] in ("pytorch", "jax")
    return "profiler" if has_own and asked != "warpmark" else "warpmark"


def measured(program, settings, devices):
    """The label of a program, and the details: times it, and records it unless only times are asked for."""
    lane = Lane(settings, devices)
    if program["framework"] == "pytorch" and recorder_of(program, settings.recorder) == "profiler":
        result = torch_measured(program, settings, lane)
    else:
        result = timed_apart(program, settings, lane)
        if not settings.time_only:
            result["files"] = recorded_apart(program, settings, lane)
    return label_of(program, result), result | {"name": program["name"]}


# --- one process at a time -------------------------------------------------------------------------------------------

class Lane:
    """Some GPUs, used by one program."""

    def __init__(self, settings, devices):
        self.limit = settings.limit
        self.environment = os.environ | {"CUDA_VISIBLE_DEVICES": ",".join(devices)}

    def run(self, command):
        """What it printed; the process and all it started are ended at the time limit."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment, start_new_session=True)
        RUNNING.add(process)
        try:
            said, complained = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"longer than {self.limit:.0f} s: {shown(command)}") from None
        finally:
            end_group(process)
            RUNNING.discard(process)
            process.stdout.close()
            process.stderr.close()
        if process.returncode != 0:
            raise Failed(f"exit {process.returncode}: {shown(command)}\n{(complained or said)[-2000:]}")
        return said, complained


def end_all():
    for process in list(RUNNING):
        end_group(process)


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)  # workers of a loader outlive a program that was ended
    except ProcessLookupError:
        pass
    process.wait()


def shown(command):
    return " ".join(os.path.relpath(word) if os.path.isabs(word) and os.path.exists(word) else word for word in command)


# --- PyTorch by its own profiler -------------------------------------------------------------------------------------

def torch_measured(program, settings, lane):
    """Both variants in one process, in turns; apart where the flawed one has an environment of its own."""
    result = {}
    for part in ("cured", "flawed") if program.get("environment") else ("both",):
        file = os.path.join(settings.scratch, f"{program['name']}.{part}.json")
        if os.path.exists(file):
            os.remove(file)
        command = [sys.executable, RECORD, "--worker", program["name"], part, file, str(settings.blocks)]
        lane.run(command + ([] if settings.time_only else [settings.out]))
        with open(file, encoding="utf-8") as stream:
            result |= {key: value for key, value in json.load(stream).items() if value is not None}
    for variant in ("flawed", "cured"):
        blocks = result.pop(f"{variant}_blocks", None)
        result[f"{variant}_ms"] = [round(1e3 * block, 5) for block in blocks] if blocks else None
    result["per_work"] = False
    return result


def worker(name, part, file, blocks, out=None):
    """The process that torch_measured and the recorder for JAX start; on several GPUs it starts one for each."""
    import run
    program = catalog.named(name)
    run.need(program)
    if program["gpus"] > 1 and "RANK" not in os.environ:
        words = [name, part, file, blocks, *([out] if out else [])]
        sys.exit(run.run_ranks(program["gpus"], [sys.executable, RECORD, "--worker", *words]))
    os.environ.update(run.environment_of(program, "cured" if part == "cured" else "flawed"))
    if program["framework"] == "jax":
        result = jax_profiled(program, out)
    else:
        from shared import torch_recording
        result = torch_recording.run(program, run.load(program), part, out, int(blocks))
    if int(os.environ.get("RANK", 0)) == 0:
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(result, stream)


# --- other programs --------------------------------------------------------------------------------------------------

def timed_apart(program, settings, lane):
    """The variants in turns, each in a process of its own."""
    times = {"flawed": [], "cured": []}
    for _ in range(settings.rounds):
        for variant in ("flawed",) if program["cause"] == catalog.HEALTHY else ("flawed", "cured"):
            said, _ = lane.run([sys.executable, RUN, program["name"], variant, str(settings.seconds)])
            times[variant] += json.loads(said.strip().splitlines()[-1])["blocks_ms"]
    return {"flawed_ms": times["flawed"], "cured_ms": times["cured"] or None, "gpu": gpu_name(lane), "per_work": True}


def gpu_name(lane):
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader",
                               f"--id={lane.environment['CUDA_VISIBLE_DEVICES'].split(',')[0]}"],
                              capture_output=True, text=True, check=False, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def recorded_apart(program, settings, lane):
    if recorder_of(program, settings.recorder) == "profiler":
        file = os.path.join(settings.scratch, program["name"] + ".jax.json")
        lane.run([sys.executable, RECORD, "--worker", program["name"], "flawed", file, "0", settings.out])
        return [program["name"] + ".trace.json.gz"]
    if not settings.warpmark:
        raise Failed("is recorded by `warpmark profile`: say --warpmark PATH, or --time-only")
    file = program["name"] + ".wmrec"
    command = [sys.executable, RUN, program["name"], "flawed", str(settings.record)]
    lane.run([settings.warpmark, "profile", "--out", os.path.join(settings.out, file), "--", *command])
    return [file]


def jax_profiled(program, out):
    import run
    module = run.load(program)
    import jax
    made = module.program(False)
    step = made[0] if isinstance(made, tuple) else made
    run.warm_until_steady(lambda: jax.block_until_ready(step()))
    folder = os.path.join(out, "scratch", program["name"] + ".jax")
    shutil.rmtree(folder, ignore_errors=True)
    jax.profiler.start_trace(folder)
    for number in range(JAX_STEPS):
        with jax.profiler.StepTraceAnnotation("step", step_num=number):
            result = step()
    jax.block_until_ready(result)
    jax.profiler.stop_trace()
    traces = glob.glob(os.path.join(folder, "**", "*.trace.json.gz"), recursive=True)
    if not traces:
        raise Failed(f"jax.profiler wrote no trace.json.gz into {folder}")
    os.replace(traces[0], os.path.join(out, program["name"] + ".trace.json.gz"))
    shutil.rmtree(folder)
    return {"recorded_at": time.time()}


# --- labels ----------------------------------------------------------------------------------------------------------

def label_of(program, result):
    """As bench/score_analysis.py reads it: "injected" is the cause, "accept" what may be found first."""
    flawed = statistics.median(result["flawed_ms"])
    cured = statistics.median(result["cured_ms"]) if result["cured_ms"] else None
    batch = program.get("batch")
    work = program.get("cured_batch", batch) / batch if batch and not result["per_work"] else 1
    return {"name": program["name"], "files": result.get("files", []), "injected": program["cause"],
            "accept": program["accept"], "fix": program["cure"] or "", "framework": program["framework"],
            "gpus": program["gpus"], "set": program["set"], "gpu": result.get("gpu"), "batch": batch,
            "step_ms": round(flawed, 4), "fixed_step_ms": cured and round(cured, 4),
            "measured_speedup": cured and round(flawed / cured * work, 3),
            "speedup_per": "sample" if "cured_batch" in program else "step"}
