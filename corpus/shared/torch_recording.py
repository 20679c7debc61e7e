"""Times a PyTorch program before and after its cure and records the flawed one with torch.profiler: in a process of its
own, on several GPUs one process each (RANK, WORLD_SIZE and MASTER_* as torchrun sets them).

The variants are timed in turns without a profiler (blocks of steps, one synchronization a block), so that clocks and
temperature are shared; then a few steady steps of the flawed one are recorded. Variants with loader workers, whose
queues would fill meanwhile, and those that need an environment of their own are timed one after the other."""
import gzip
import os
import shutil
import statistics
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity

TRACE_BYTES = 600_000  # aimed at, compressed
BYTES_PER_EVENT = 26
QUEUED_BATCHES = 40  # more than a dozen workers hold ready with PyTorch's prefetch_factor of 2, as some come meanwhile


class Variant:
    def __init__(self, program, module, kind):
        built = module.program(kind)
        self.step, self.close = built if isinstance(built, tuple) else (built, lambda: None)
        self.blocks = []  # seconds a step

    def warm(self, seconds=0.4, least=4):
        began, count = time.perf_counter(), 0
        while count < least or (time.perf_counter() - began < seconds and count < 50):
            self.step()
            count += 1
            torch.cuda.synchronize()

    def block(self, steps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            self.step()
        torch.cuda.synchronize()
        self.blocks.append((time.perf_counter() - began) / steps)
        return self.blocks[-1]


def ranks():
    return int(os.environ.get("WORLD_SIZE", 1))


def prepare_process():
    rank = int(os.environ.get("RANK", 0))
    if torch.cuda.device_count() < ranks():
        raise SystemExit(f"needs {ranks()} GPUs, {torch.cuda.device_count()} found")
    torch.cuda.set_device(rank)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    torch.cuda.init()
    if ranks() > 1:
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


def agree(value):
    """Rank 0's value, on every rank: all of them make the same number of steps."""
    if ranks() == 1:
        return value
    shared = torch.tensor([value], device="cuda")
    dist.broadcast(shared, 0)
    return shared.item()


def meet():
    if ranks() > 1:
        dist.barrier()


# --- timing ----------------------------------------------------------------------------------------------------------

def steps_for(variant, seconds):
    guess = variant.block(3)
    return agree(max(3, min(60, int(seconds / guess))))


def time_in_turns(variants, blocks, seconds=0.2):
    for variant in variants:
        if ranks() > 1:
            variant.block(8)
            meet()
        else:
            variant.warm()
    counts = [steps_for(variant, seconds) for variant in variants]
    for variant in variants:
        variant.blocks.clear()
    for _ in range(blocks):
        for variant, count in zip(variants, counts):
            meet()
            variant.block(count)


def time_loader(variant, blocks):
    """A loader's ready batches are used up first; blocks are long, since workers deliver in bursts."""
    if ranks() > 1:
        time_in_turns([variant], 3, 1.0)
        return
    variant.warm(seconds=2.0, least=8)
    count = max(6, min(28, int(1.0 / variant.block(6))))
    variant.blocks.clear()
    for _ in range(blocks):
        variant.block(count)


def timed_alone(program, module, kind, seconds):
    """(ms of a flawed step's work in each block, steps) of one variant, for about so many seconds."""
    prepare_process()
    variant = Variant(program, module, kind)
    variant.warm(seconds=2.0 if program.get("loader") and ranks() == 1 else 0.4, least=8)
    count = steps_for(variant, 1.0 if program.get("loader") else 0.2)
    blocks = agree(max(1, int(seconds / (count * variant.blocks[-1]))))
    variant.blocks.clear()
    for _ in range(blocks):
        meet()
        variant.block(count)
    variant.close()
    leave()
    more = kind == "cured" and "cured_batch" in program
    work = program["cured_batch"] / program["batch"] if more else 1
    return [1e3 * block / work for block in variant.blocks], count * blocks


def leave():
    if ranks() > 1:
        dist.destroy_process_group()


# --- recording -------------------------------------------------------------------------------------------------------

def profiler_arguments(options):
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True) if options["sync_events"] else None
    return {"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA], "record_shapes": options["shapes"],
            "profile_memory": options["memory"], "experimental_config": config}


def profile(step, steps, options, path, loader):
    """Starting the profiler takes seconds, in which a loader's workers fill their queues: steps that are not recorded
    empty them first, else the recording would show no wait."""
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
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    return len(profiler.profiler.kineto_results.events())


def steps_to_profile(events, options, step_seconds):
    cost = BYTES_PER_EVENT * (1.25 if options["shapes"] else 1.0)
    most = 8 if step_seconds > 2e-3 else 24
    return agree(max(3, min(most, int(TRACE_BYTES / (cost * max(events, 1))))))


def compress(path):
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)


def measure(program, module, part, blocks):
    """Times what `part` says ("both", "flawed", "cured"): (the flawed variant, still open, or None; the cured one's
    blocks or None)."""
    flawed, cured = None, None
    wants_cured = part != "flawed" and program["cause"] != "none"
    if program.get("loader"):
        if wants_cured:
            cured = Variant(program, module, "cured")
            time_loader(cured, min(blocks, 4))
            cured.close()
        if part != "cured":
            flawed = Variant(program, module, "flawed")
            time_loader(flawed, min(blocks, 4))
    else:
        cured = Variant(program, module, "cured") if wants_cured else None
        flawed = Variant(program, module, "flawed") if part != "cured" else None
        time_in_turns([v for v in (flawed, cured) if v], blocks)
    return flawed, cured.blocks if cured else None


def run(program, module, part, out, blocks):
    """What was measured of this part; `out`: the folder of the trace, or None if nothing is to be recorded."""
    prepare_process()
    rank = int(os.environ.get("RANK", 0))
    flawed, cured_blocks = measure(program, module, part, blocks)
    result = {"cured_blocks": cured_blocks, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    if flawed:
        result["flawed_blocks"] = list(flawed.blocks)
        if out:
            result["profiled_steps"] = record(flawed, program, out, rank)
            names = [f".rank{r}" for r in range(ranks())] if ranks() > 1 else [""]
            result["files"] = [f"{program['name']}{name}.pt.trace.json.gz" for name in names]
        flawed.close()
    leave()
    return result


def record(flawed, program, out, rank):
    options = program["profiler"]
    steps = steps_to_profile(events_of_one_step(flawed.step), options, statistics.median(flawed.blocks))
    name = program["name"] + (f".rank{rank}" if ranks() > 1 else "") + ".pt.trace.json"
    for _ in range(3):
        flawed.step()
    torch.cuda.synchronize()
    meet()
    path = os.path.join(out, name)
    profile(flawed.step, steps, options, path, program.get("loader", False))
    meet()
    compress(path)
    return steps
