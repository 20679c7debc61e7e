"""What the sets of programs with one flaw each share (jax_cases*.py, array_cases.py): their command line and how their
steps are timed.

    PROGRAM list                              one JSON object a line: what each case is
    PROGRAM run NAME broken|fixed SECONDS     steps for SECONDS; the last line printed has the time of a step

A set's cases are a dictionary, name: (model, injected, what an expert would also call right, flaw, fix)."""
import importlib
import json
import os
import statistics
import sys
import time

BLOCK_S = 0.2


def program():
    return os.path.basename(sys.argv[0])


def fail(message):
    print(f"{program().removesuffix('.py')}: {message}", file=sys.stderr)
    sys.exit(1)


def list_cases(cases):
    for name, (model, injected, also, flaw, fix) in cases.items():
        accept = [] if injected == "none" else [injected, *also]
        print(json.dumps({"name": name, "model": model, "injected": injected, "accept": accept, "flaw": flaw,
                          "fix": fix}))


def main(cases, run):
    """`run(name, fixed, seconds)` sets a program up and measures it."""
    arguments = sys.argv[1:]
    if arguments == ["list"]:
        return list_cases(cases)
    if len(arguments) != 4 or arguments[0] != "run" or arguments[2] not in ("broken", "fixed"):
        fail(f"usage: {program()} list | run NAME broken|fixed SECONDS")
    name, variant = arguments[1:3]
    if name not in cases:
        fail(f"no case {name}")
    if variant == "fixed" and cases[name][1] == "none":
        fail(f"{name} has nothing to fix")
    try:
        seconds = float(arguments[3])
    except ValueError:
        fail(f"not a number of seconds: {arguments[3]}")
    if not 0 < seconds < 3600:
        fail("seconds must be more than 0 and less than 3600")
    run(name, variant == "fixed", seconds)


def measure(step, wait, is_finite, seconds, work):
    """Times blocks of steps and prints the line with the time of a step, unless the last result is not finite.
    `wait(result)` ends a block; a step does `work` times the work of the broken variant's."""
    def steps(count):
        begin = time.perf_counter()
        for _ in range(count):
            result = step()
        wait(result)
        return time.perf_counter() - begin, result

    # A block is a number of steps, not a time: the host runs ahead of the GPU, so its clock says little.
    count = max(1, round(BLOCK_S / (steps(5)[0] / 5)))
    steps(count)
    blocks, begin = [], time.perf_counter()
    while not blocks or time.perf_counter() - begin < seconds:
        took, last = steps(count)
        blocks.append(1e3 * took / count / work)
    if not is_finite(last):
        fail(f"{' '.join(sys.argv[2:4])}: the result is not finite")
    print(json.dumps({"step_ms": round(statistics.median(blocks), 4), "blocks_ms": [round(ms, 4) for ms in blocks],
                      "steps": count * len(blocks)}), flush=True)


def until_steady(least, most):
    """Warms up until three steps in a row take about the same: by then nothing is compiled or tuned any more."""
    def warm_up(one):
        times = []
        while len(times) < most:
            begin = time.perf_counter()
            one()
            times.append(time.perf_counter() - begin)
            if len(times) >= least and max(times[-3:]) < 1.2 * min(times[-3:]):
                break
    return warm_up


def so_often(times):
    """Warms up by so many steps."""
    def warm_up(one):
        for _ in range(times):
            one()
    return warm_up


def run_jax(modules, environment, warm_up):
    """Runs programs that are functions of these modules, the first that has one of the name. `environment`: what has to
    be set before JAX is imported, for a variant "broken"."""
    def run(name, fixed, seconds):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        os.environ.pop("XLA_PYTHON_CLIENT_ALLOCATOR", None)
        if not fixed:
            os.environ.update(environment.get(name, {}))
        import jax
        import jax.numpy as jnp
        found = [importlib.import_module(module) for module in modules]
        if jax.default_backend() != "gpu":
            fail(f"needs a GPU, JAX found {jax.default_backend()}")
        made = getattr(next(module for module in found if hasattr(module, name)), name)(fixed)
        step, work = made if isinstance(made, tuple) else (made, 1)
        warm_up(lambda: jax.block_until_ready(step()))

        def is_finite(result):
            return all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(result))
        measure(step, jax.block_until_ready, is_finite, seconds, work)
    return run
