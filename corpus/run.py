"""Runs one program of the corpus, and prints as its last line what its steps took:
{"blocks_ms": [...], "steps": N}: the time of a step in each of some blocks of steps, in ms.

Usage: python3 corpus/run.py NAME flawed|cured SECONDS

Where the cured program does more work a step (a larger batch), its times are those of the flawed one's work. A program
for two GPUs starts one process for each. CUDA programs are compiled first (nvcc, into $WARPMARK_CORPUS_BUILD)."""
import importlib.util
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from shared import catalog

BLOCK_S = 0.2


def fail(message, code=2):
    print(f"run.py: {message}", file=sys.stderr)
    sys.exit(code)


def main(arguments):
    if len(arguments) != 3 or arguments[1] not in ("flawed", "cured"):
        fail("usage: run.py NAME flawed|cured SECONDS")
    name, variant = arguments[:2]
    program = catalog.named(name)
    if program is None:
        fail(f"no program {name}; see record.py --list")
    if variant == "cured" and program["cause"] == catalog.HEALTHY:
        fail(f"{name} is healthy: there is nothing to cure")
    try:
        seconds = float(arguments[2])
    except ValueError:
        fail(f"not a number of seconds: {arguments[2]}")
    if not 0 < seconds < 3600:
        fail("seconds must be more than 0 and less than 3600")
    if program["framework"] == "cuda":
        binary = compiled(program)
        os.execv(binary, [binary, variant, arguments[2]])
    need(program)
    if program["gpus"] > 1 and "RANK" not in os.environ:
        sys.exit(run_ranks(program["gpus"], [sys.executable, os.path.abspath(__file__), *arguments]))
    os.environ.update(environment_of(program, variant))
    {"pytorch": time_torch, "jax": time_jax}.get(program["framework"], time_array)(program, variant, seconds)


def environment_of(program, variant):
    """What has to be set before the framework is imported."""
    general = {"jax": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}}.get(program["framework"], {})
    return general | (program.get("environment", {}) if variant == "flawed" else {})


def need(program):
    """Ends here if the framework is missing; a folder of its name in the corpus is none."""
    module = {"pytorch": "torch"}.get(program["framework"], program["framework"])
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        wanted = catalog.read()["frameworks"][program["framework"]]["needs"]
        fail(f"{program['name']} needs {wanted}: no {module} here", 5)


def load(program):
    """The module of a program. Its workers are forked, as they were when the profiles of the corpus were recorded."""
    multiprocessing.set_start_method("fork", force=True)
    spec = importlib.util.spec_from_file_location(program["name"], os.path.join(catalog.CORPUS, program["file"]))
    module = importlib.util.module_from_spec(spec)
    sys.modules[program["name"]] = module
    spec.loader.exec_module(module)
    return module


# --- processes -------------------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ranks(ranks, command):
    """One process a GPU; the first that fails ends the others. Returns 0 or the first failure's code."""
    shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [subprocess.Popen(command, env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
                 for rank in range(ranks)]
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        while True:
            codes = [process.poll() for process in processes]
            failed = next((code for code in codes if code), 0)
            if failed or None not in codes:
                return failed
            time.sleep(0.05)
    finally:
        signal.signal(signal.SIGTERM, previous)
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def compiled(program):
    """The path of a CUDA program's executable, which is made anew where a source is newer."""
    default = os.path.join(tempfile.gettempdir(), f"warpmark-corpus-{os.getuid()}")
    folder = os.environ.get("WARPMARK_CORPUS_BUILD") or default
    os.makedirs(folder, exist_ok=True)
    source, binary = os.path.join(catalog.CORPUS, program["file"]), os.path.join(folder, program["name"])
    shared = os.path.join(catalog.CORPUS, "shared")
    sources = [source, *(os.path.join(shared, name) for name in os.listdir(shared) if name.endswith(".cuh"))]
    if os.path.exists(binary) and os.path.getmtime(binary) > max(map(os.path.getmtime, sources)):
        return binary
    made = f"{binary}.{os.getpid()}"
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    command = [nvcc, "-std=c++20", "-O3", "-arch=native", f"-I{shared}", "-o", made, source, "-lcublas"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    except FileNotFoundError:
        fail("CUDA programs need nvcc, which is neither in PATH nor in /usr/local/cuda/bin: install CUDA", 5)
    except subprocess.TimeoutExpired:
        fail(f"nvcc took longer than 300 s for {program['file']}", 5)
    if done.returncode != 0:
        fail(f"nvcc failed for {program['file']}:\n{done.stderr[-3000:] or done.stdout[-3000:]}", 5)
    os.rename(made, binary)
    return binary


# --- timing ----------------------------------------------------------------------------------------------------------

def report(blocks, steps):
    print(json.dumps({"blocks_ms": [round(ms, 5) for ms in blocks], "steps": steps}), flush=True)


def time_blocks(step, wait, is_finite, seconds, work):
    """Blocks are a number of steps, not a time: the host runs ahead of the GPU, so that its clock says little."""
    def steps(count):
        begin = time.perf_counter()
        for _ in range(count):
            result = step()
        wait(result)
        return time.perf_counter() - begin, result

    count = max(1, round(BLOCK_S / (steps(5)[0] / 5)))
    steps(count)
    blocks, begin = [], time.perf_counter()
    while not blocks or time.perf_counter() - begin < seconds:
        took, last = steps(count)
        blocks.append(1e3 * took / count / work)
    if not is_finite(last):
        fail(f"{' '.join(sys.argv[1:3])}: the result is not finite", 4)
    report(blocks, count * len(blocks))


def warm_until_steady(one, least=8, most=60):
    """Until three steps in a row take about the same: by then nothing is compiled or tuned any more."""
    times = []
    while len(times) < most:
        begin = time.perf_counter()
        one()
        times.append(time.perf_counter() - begin)
        if len(times) >= least and max(times[-3:]) < 1.2 * min(times[-3:]):
            break


def time_jax(program, variant, seconds):
    module = load(program)
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        fail(f"needs a GPU, JAX found {jax.default_backend()}", 5)
    made = module.program(variant == "cured")
    step, work = made if isinstance(made, tuple) else (made, 1)
    warm_until_steady(lambda: jax.block_until_ready(step()))

    def is_finite(result):
        return all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(result))
    time_blocks(step, jax.block_until_ready, is_finite, seconds, work)


def time_array(program, variant, seconds):
    """CuPy; Triton, whose arrays are torch's."""
    if program["framework"] == "cupy":
        import cupy
        import numpy
        has_gpu, wait = cupy.cuda.is_available(), lambda _: cupy.cuda.Device().synchronize()

        def is_finite(result):
            return bool(numpy.isfinite(cupy.asnumpy(result)).all())
    else:
        import torch
        has_gpu, wait = torch.cuda.is_available(), lambda _: torch.cuda.synchronize()

        def is_finite(result):
            return bool(torch.isfinite(result).all())
    if not has_gpu:
        fail(f"needs a GPU, {program['framework']} found none", 5)
    step, work = load(program).program(variant == "cured")
    warm_until_steady(lambda: wait(step()))
    time_blocks(step, wait, is_finite, seconds, work)


def time_torch(program, variant, seconds):
    from shared import torch_recording
    blocks, steps = torch_recording.timed_alone(program, load(program), variant, seconds)
    if int(os.environ.get("RANK", 0)) == 0:
        report(blocks, steps)


if __name__ == "__main__":
    main(sys.argv[1:])
