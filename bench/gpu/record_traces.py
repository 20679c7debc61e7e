"""Records PyTorch-profiler traces with one known bottleneck each, and what removing it really gives.

For every case the "fixed" and the "broken" variant are first timed in turns without a profiler (median over blocks of
steps, one synchronization a block); then a few steady steps of the broken one are profiled. Written: one
NAME.pt.trace.json.gz a case (NAME.rankN... for several GPUs), labels.json (the labels an analysis is judged by) and
details.json (every block time, profiler options, failures). Each case runs in a process of its own, forked from one
that has imported everything but touched no GPU, under a time limit; a case that fails costs nothing but itself.

Usage: python3 record_traces.py --out DIR [--only REGEX] [--skip REGEX] [--gpus N] [--deadline SECONDS] [--list]
Needs PyTorch 2.11, torchvision and transformers; nothing is downloaded, weights and inputs are random."""
import argparse
import faulthandler
import gzip
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import statistics
import sys
import time
import traceback

os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # no CUDA before the fork

TRACE_BYTES = 600_000  # aimed at, compressed
BYTES_PER_EVENT = 26
QUEUED_BATCHES = 40  # more than a dozen workers hold ready with PyTorch's prefetch_factor of 2, as some come meanwhile


def options_of(case):
    """Which extras the trace has; spread over the cases by name, so that readers meet every mixture."""
    digits = hashlib.md5(case.name.encode()).digest()
    return {"shapes": digits[0] % 2 == 0, "annotations": digits[1] % 3 != 0, "sync_events": digits[2] % 4 == 0,
            "memory": digits[3] % 8 == 0} | case.options


# --- timing ----------------------------------------------------------------------------------------------------------

class Variant:
    def __init__(self, case, kind):
        built = case.build(kind)
        self.step, self.close = built if isinstance(built, tuple) else (built, lambda: None)
        self.blocks = []

    def warm(self, seconds=0.4, least=4):
        import torch
        began, count = time.perf_counter(), 0
        while count < least or (time.perf_counter() - began < seconds and count < 50):
            self.step()
            count += 1
            torch.cuda.synchronize()

    def block(self, steps):
        import torch
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            self.step()
        torch.cuda.synchronize()
        self.blocks.append((time.perf_counter() - began) / steps)
        return self.blocks[-1]

    def median_ms(self):
        return 1e3 * statistics.median(self.blocks) if self.blocks else None


def steps_for(variant, seconds):
    guess = variant.block(3)
    variant.blocks.clear()
    return max(3, min(60, int(seconds / guess)))


def time_in_turns(variants, blocks=7, seconds=0.2):
    """Blocks of the variants alternate, so that clocks and temperature are shared."""
    for variant in variants:
        variant.warm()
    counts = [steps_for(variant, seconds) for variant in variants]
    for _ in range(blocks):
        for variant, count in zip(variants, counts):
            variant.block(count)


def time_loader(variant, blocks=4):
    """A loader's ready batches are used up first; blocks are long, since workers deliver in bursts."""
    variant.warm(seconds=2.0, least=8)
    count = max(6, min(28, int(1.0 / variant.block(6))))
    variant.blocks.clear()
    for _ in range(blocks):
        variant.block(count)


# --- profiling -------------------------------------------------------------------------------------------------------

def profiler_arguments(options):
    import torch
    from torch.profiler import ProfilerActivity
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True) if options["sync_events"] else None
    return {"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA], "record_shapes": options["shapes"],
            "profile_memory": options["memory"], "experimental_config": config}


def profile(step, steps, options, path, loader=False):
    """Starting the profiler takes seconds, in which a loader's workers fill their queues: steps that are not recorded
    empty them first, else the recording would show no wait."""
    import torch
    warmup = QUEUED_BATCHES if loader else 2
    if options["annotations"]:
        schedule = torch.profiler.schedule(wait=1, warmup=warmup, active=steps, repeat=1)
        with torch.profiler.profile(schedule=schedule, **profiler_arguments(options)) as profiler:
            for _ in range(1 + warmup + steps):
                step()
                profiler.step()
        profiler.export_chrome_trace(path)
        return
    profiler = torch.profiler._KinetoProfile(**profiler_arguments(options))
    profiler.prepare_trace()
    for _ in range(warmup):
        step()
    profiler.start_trace()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    profiler.stop_trace()
    profiler.export_chrome_trace(path)


def events_of_one_step(step):
    """Also brings up CUPTI; so it comes after the timing."""
    import torch
    from torch.profiler import ProfilerActivity
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    return len(profiler.profiler.kineto_results.events())


def steps_to_profile(events, options, step_seconds):
    cost = BYTES_PER_EVENT * (1.25 if options["shapes"] else 1.0)
    most = 8 if step_seconds > 2e-3 else 24
    return max(3, min(most, int(TRACE_BYTES / (cost * max(events, 1)))))


def compress(path):
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
    return os.path.getsize(path + ".gz")


# --- one case in its process -----------------------------------------------------------------------------------------

def prepare_process():
    import torch
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    torch.cuda.init()


def healthy(case):
    return case.injected == "none"


def run_case(case, out, lock, part):
    """part: "all", or for variants that need an environment of their own "fixed" (timed) and "broken"."""
    import fcntl

    import torch
    handle = open(lock, "w")
    fcntl.flock(handle, fcntl.LOCK_EX)  # compression of the case before goes on meanwhile; the GPU is ours alone
    began = time.time()
    prepare_process()
    options = options_of(case)
    fixed = None if healthy(case) or part == "broken" else Variant(case, "fixed")
    if part == "fixed":
        time_in_turns([fixed])
        return {"fixed_blocks": fixed.blocks}
    if case.loader:
        if fixed:
            time_loader(fixed)
            fixed.close()
        broken = Variant(case, "broken")
        time_loader(broken)
    else:
        broken = Variant(case, "broken")
        time_in_turns([v for v in (broken, fixed) if v])
    events = events_of_one_step(broken.step)
    steps = steps_to_profile(events, options, statistics.median(broken.blocks))
    path = os.path.join(out, case.name + ".pt.trace.json")
    for _ in range(3):
        broken.step()
    torch.cuda.synchronize()
    profile(broken.step, steps, options, path, case.loader)
    broken.close()
    gpu = torch.cuda.get_device_name()
    peak = torch.cuda.max_memory_allocated()
    fcntl.flock(handle, fcntl.LOCK_UN)
    size = compress(path)
    return {"broken_blocks": broken.blocks, "fixed_blocks": fixed.blocks if fixed else None, "options": options,
            "profiled_steps": steps, "events_per_step": events, "bytes": size, "gpu": gpu,
            "seconds": time.time() - began, "torch": torch.__version__, "peak_memory": peak,
            "files": [case.name + ".pt.trace.json.gz"]}


def agree(value):
    """Rank 0's value, on every rank."""
    import torch
    import torch.distributed as dist
    shared = torch.tensor([value], device="cuda")
    dist.broadcast(shared, 0)
    return shared.item()


def time_ranks(variants, blocks=6, seconds=0.2):
    """Like time_in_turns; all ranks make the same number of steps."""
    import torch.distributed as dist
    for variant in variants:
        variant.block(8)
        dist.barrier()
    counts = [agree(steps_for(variant, seconds)) for variant in variants]
    for variant in variants:
        variant.blocks.clear()
    for _ in range(blocks):
        for variant, count in zip(variants, counts):
            dist.barrier()
            variant.block(count)


def run_rank(case, out, rank, ranks, port):
    import torch
    import torch.distributed as dist
    began = time.time()
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    prepare_process()
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    options = options_of(case)
    fixed = None if healthy(case) else Variant(case, "fixed")
    if case.loader:  # in turns, the idle variant's workers would fill their queues
        time_ranks([fixed], blocks=3, seconds=1.0)
        fixed.close()
    broken = Variant(case, "broken")
    if case.loader:
        time_ranks([broken], blocks=3, seconds=1.0)
    else:
        time_ranks([v for v in (broken, fixed) if v])
    events = events_of_one_step(broken.step)
    steps = agree(steps_to_profile(events, options, statistics.median(broken.blocks)))
    name = f"{case.name}.rank{rank}.pt.trace.json"
    dist.barrier()
    profile(broken.step, steps, options, os.path.join(out, name), case.loader)
    dist.barrier()
    broken.close()
    size = compress(os.path.join(out, name))
    return {"broken_blocks": broken.blocks, "fixed_blocks": fixed.blocks if fixed else None, "options": options,
            "profiled_steps": steps, "events_per_step": events, "bytes": size, "gpu": torch.cuda.get_device_name(),
            "seconds": time.time() - began, "torch": torch.__version__,
            "files": [f"{case.name}.rank{r}.pt.trace.json.gz" for r in range(ranks)]}


def label_of(case, result):
    step = 1e3 * statistics.median(result["broken_blocks"])
    fixed = 1e3 * statistics.median(result["fixed_blocks"]) if result.get("fixed_blocks") else None
    gain = step / fixed * (case.fixed_batch or case.batch) / case.batch if fixed else None
    return {"name": case.name, "files": result["files"], "injected": case.injected, "accept": case.accepted(),
            "fix": case.fix, "gpu": result["gpu"], "batch": case.batch, "step_ms": round(step, 3),
            "fixed_step_ms": round(fixed, 3) if fixed else None, "measured_speedup": round(gain, 3) if gain else None,
            "speedup_per": "sample" if case.fixed_batch else "step", "split": case.split()}


# --- processes -------------------------------------------------------------------------------------------------------

def start(work, result_path, environment=None):
    """Forks; the child writes work()'s result, or the error, as JSON."""
    child = os.fork()
    if child:
        return child
    os.setpgid(0, 0)
    os.environ.update(environment or {})
    faulthandler.enable()
    log = os.open(result_path + ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 0
    try:
        result = work()
    except BaseException:
        result, code = {"error": traceback.format_exc()[-3000:]}, 1
    with open(result_path + ".part", "w") as file:
        json.dump(result, file)
    os.rename(result_path + ".part", result_path)
    sys.stdout.flush()
    os._exit(code)


def finish(child, limit):
    """Waits; ends the child's process group (its loader workers too) at the limit."""
    ended = False
    deadline = time.time() + limit
    while time.time() < deadline and not ended:
        ended = os.waitpid(child, os.WNOHANG)[0] != 0
        time.sleep(0 if ended else 0.02)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if not ended:
        os.waitpid(child, 0)
    return ended


def outcome(path, ended):
    result = {"error": "crashed" if ended else "ran past the time limit"}
    if os.path.exists(path):
        result = json.load(open(path))
    if "error" in result and os.path.exists(path + ".log"):
        result["log"] = open(path + ".log").read()[:1500]
    return result


class RankRecorder:
    """One process a GPU; one case at a time. Keeps its results through a Recorder."""

    def __init__(self, arguments):
        self.recorder, self.ranks, self.port = Recorder(arguments), arguments.gpus, 29500
        self.deadline, self.labels = self.recorder.deadline, self.recorder.labels

    def add(self, case):
        to, jobs = self.recorder, []
        self.port += 1
        for rank in range(self.ranks):
            path = os.path.join(to.scratch, f"{case.name}.rank{rank}.json")
            jobs.append((start(lambda: run_rank(case, to.out, rank, self.ranks, self.port), path), path))
        limit = time.time() + to.limit
        results = [outcome(path, finish(child, max(1, limit - time.time()))) for child, path in jobs]
        to.keep(case, next((r for r in results if "error" in r), results[0]))

    def drain(self, keep):
        pass


class Recorder:
    """Starts each case; while one compresses its trace, the next may use the GPU."""

    def __init__(self, arguments):
        self.out, self.limit, self.deadline = arguments.out, arguments.limit, time.time() + arguments.deadline
        self.scratch = os.path.join(arguments.out, "scratch")
        os.makedirs(self.scratch, exist_ok=True)
        self.lock, self.running = os.path.join(self.scratch, "gpu.lock"), []
        self.labels, self.details = [], []

    def add(self, case):
        parts = ["fixed", "broken"] if case.environment else ["all"]
        jobs = []
        for part in parts:
            path = os.path.join(self.scratch, f"{case.name}.{part}.json")
            child = start(lambda: run_case(case, self.out, self.lock, part), path,
                          case.environment if part == "broken" else None)
            jobs.append((child, path))
            if part == "fixed":
                self.drain(0)
                jobs[-1] = (None, path) if finish(child, self.limit) else (None, path)
        self.running.append((case, jobs))
        self.drain(1)

    def drain(self, keep):
        while len(self.running) > keep:
            case, jobs = self.running.pop(0)
            result = {}
            for child, path in jobs:
                ended = finish(child, self.limit) if child else True
                result |= {k: v for k, v in outcome(path, ended).items() if v is not None}
            self.keep(case, result)

    def keep(self, case, result):
        self.details.append({"name": case.name} | result)
        if "error" in result:
            print(f"{case.name}: FAILED {result['error'].strip().splitlines()[-1]}", flush=True)
        else:
            self.labels.append(label_of(case, result))
            label = self.labels[-1]
            print(f"{case.name}: {label['step_ms']} -> {label['fixed_step_ms']} ms, x{label['measured_speedup']}, "
                  f"{result.get('profiled_steps')} steps, {result.get('bytes', 0) // 1000} kB, "
                  f"{result.get('seconds', 0):.1f} s", flush=True)
        for name, value in (("labels.json", self.labels), ("details.json", self.details)):
            with open(os.path.join(self.out, name), "w") as file:
                json.dump(value, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder to write to")
    parser.add_argument("--only", default="", help="cases whose name this regular expression finds")
    parser.add_argument("--skip", default="^$", help="and this one does not")
    parser.add_argument("--gpus", type=int, default=1, choices=range(1, 9),
                        help="1: trace_cases.py, else trace_cases_ddp.py, whose loads are for two ranks in some cases")
    parser.add_argument("--cases", help="another module with CASES (trace_cases_blind; two GPUs: trace_cases_ddp2)")
    parser.add_argument("--limit", type=float, default=75, help="seconds a case may take")
    parser.add_argument("--deadline", type=float, default=1e9, help="no case starts after so many seconds")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    arguments = parser.parse_args()
    if arguments.cases:
        cases = importlib.import_module(arguments.cases)
    elif arguments.gpus == 1:
        import trace_cases as cases
    else:
        import trace_cases_ddp as cases
    chosen = [c for c in cases.CASES if re.search(arguments.only, c.name) and not re.search(arguments.skip, c.name)]
    if arguments.list:
        for case in chosen:
            print(f"{case.name:36} {case.model:18} {case.injected:18} {case.split():10} {case.fix}")
        return
    import torchvision  # noqa: F401  imported before the forks, once for all
    from torchvision.transforms import v2  # noqa: F401
    from transformers import BertForMaskedLM, GPT2LMHeadModel, T5ForConditionalGeneration  # noqa: F401
    os.makedirs(arguments.out, exist_ok=True)
    recorder = Recorder(arguments) if arguments.gpus == 1 else RankRecorder(arguments)
    for case in chosen:
        if time.time() > recorder.deadline:
            print(f"{case.name}: not run, out of time", flush=True)
            continue
        recorder.add(case)
    recorder.drain(0)
    print(f"{len(recorder.labels)} of {len(chosen)} recorded", flush=True)


if __name__ == "__main__":
    main()
