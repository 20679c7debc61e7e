#!/usr/bin/env python3
"""Small GPU programs with one flaw or a few each, and a trial of the knobs on them.

    python3 bench/gpu_optimize.py                       # probe: every program with each knob alone, and fixed by hand
    python3 bench/gpu_optimize.py --full WARPMARK --out DIR NAME  # the whole search by `warpmark optimize` on some programs
    python3 bench/gpu_optimize.py --program NAME        # one program as users run it (--fixed: fixed by hand)

The probe needs no warpmark, only src/workers/hook: it shows for each knob whether it was in force, the time of a step
beside that of the original, and the losses. It stops at --minutes (default 9) and prints its tables last.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = os.path.join(HERE, "..", "src", "workers", "hook")
STEPS = int(os.environ.get("STEPS", "60"))


# Programs. Each makes a model and steps; `fixed` is what a person would write.


def train(model, batches, loss_of, optimizer, cast=None, each=None):
    import torch

    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        if cast is not None:
            with torch.autocast("cuda", dtype=cast):
                out = model(batch[0])
            out = out.float()
        else:
            out = model(batch[0])
        loss = loss_of(out, batch[1])
        loss.backward()
        optimizer.step()
        if each is not None:
            each(number)
    print("loss %.4f" % loss.item())


def slow_loader(fixed):
    """Samples are decoded on the host, one after another, in the process that trains."""
    import torch
    from torch import nn

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return 64 * STEPS * 2

        def __getitem__(self, index):
            generator = torch.Generator().manual_seed(index)
            photo = torch.randn(3, 64, 64, generator=generator)
            for _ in range(3):
                photo = torch.nn.functional.avg_pool2d(photo[None], 3, 1, 1)[0]
            return photo, index % 10

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10)
    ).cuda()
    loader = torch.utils.data.DataLoader(Photos(), batch_size=64, num_workers=8 if fixed else 0, pin_memory=fixed)
    batches = ((x.cuda(), y.cuda()) for x, y in loader)
    train(model, batches, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01))


def encoder(layers, width, tokens, batch, fixed_cast, fixed_compile=None, fused=False):
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(width, 64)).cuda()
    if fixed_compile:
        model = torch.compile(model, mode=fixed_compile)
    data = [
        (torch.randn(batch, tokens, width, device="cuda"), torch.randint(64, (batch * tokens,), device="cuda"))
        for _ in range(4)
    ]
    loss = nn.CrossEntropyLoss()
    optimizer = (
        torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        if fused
        else torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    )
    train(
        model,
        (data[i % 4] for i in range(STEPS * 4)),
        lambda out, y: loss(out.reshape(-1, 64), y),
        optimizer,
        fixed_cast,
    )


def f32_encoder(fixed):
    """Matrix products of f32."""
    import torch

    encoder(6, 768, 256, 16, torch.bfloat16 if fixed else None, fused=fixed)


def small_encoder(fixed):
    """Launches: many small kernels."""
    encoder(12, 128, 32, 4, None, "reduce-overhead" if fixed else None, fused=fixed)


def loop_optimizer(fixed):
    """An optimizer that steps each of many parameters alone."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256)) for _ in range(100)], nn.Linear(256, 10)
    ).cuda()
    arguments = {"fused": True} if fixed else {"foreach": False}
    data = [(torch.randn(256, 256, device="cuda"), torch.randint(10, (256,), device="cuda")) for _ in range(4)]
    train(
        model,
        (data[i % 4] for i in range(STEPS * 4)),
        nn.CrossEntropyLoss(),
        torch.optim.AdamW(model.parameters(), lr=1e-4, **arguments),
    )


def convnet(channels, fixed):
    import torch
    from torch import nn

    torch.manual_seed(0)
    parts, before = [], 3
    for width in channels:
        parts += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        before = width
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)).cuda()
    return model.to(memory_format=torch.channels_last) if fixed else model


def f32_convnet(fixed):
    """Convolutions of f32, channels first."""
    import torch
    from torch import nn

    model = convnet((64, 128, 256, 512), fixed)
    form = torch.channels_last if fixed else torch.contiguous_format
    data = [
        (torch.randn(64, 3, 128, 128, device="cuda").to(memory_format=form), torch.randint(10, (64,), device="cuda"))
        for _ in range(4)
    ]
    torch.backends.cudnn.benchmark = fixed
    train(
        model,
        (data[i % 4] for i in range(STEPS * 4)),
        nn.CrossEntropyLoss(),
        torch.optim.SGD(model.parameters(), lr=0.01),
        torch.bfloat16 if fixed else None,
    )


def f32_inference(fixed):
    """Inference in f32, channels first."""
    import torch

    model = convnet((64, 128, 256, 512), fixed).eval()
    data = [torch.randn(64, 3, 128, 128, device="cuda") for _ in range(4)]
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, enabled=fixed):
        for i in range(STEPS * 4):
            x = data[i % 4]
            out = model(x.to(memory_format=torch.channels_last) if fixed else x)
    print("sum %.3f" % out.float().sum().item())


def empties_cache(fixed):
    """empty_cache in the loop."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)], nn.Linear(2048, 10)).cuda()
    data = [(torch.randn(512, 2048, device="cuda"), torch.randint(10, (512,), device="cuda")) for _ in range(4)]
    train(
        model,
        (data[i % 4] for i in range(STEPS * 4)),
        nn.CrossEntropyLoss(),
        torch.optim.SGD(model.parameters(), lr=0.001),
        each=None if fixed else lambda n: torch.cuda.empty_cache(),
    )


def f32_products(fixed):
    """Large matrix products of f32 without TF32."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if fixed:
        torch.set_float32_matmul_precision("high")
    model = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(4)], nn.Linear(4096, 10)).cuda()
    data = [(torch.randn(2048, 4096, device="cuda"), torch.randint(10, (2048,), device="cuda")) for _ in range(4)]
    train(
        model,
        (data[i % 4] for i in range(STEPS * 4)),
        nn.CrossEntropyLoss(),
        torch.optim.SGD(model.parameters(), lr=0.001),
    )


def eager_gpt(fixed):
    """A model of transformers with eager attention."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=6, n_embd=768, n_head=12, n_positions=1024, vocab_size=8192, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0
    )
    config._attn_implementation = "sdpa" if fixed else "eager"
    model = GPT2LMHeadModel(config).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fixed)
    data = [torch.randint(8192, (4, 1024), device="cuda") for _ in range(4)]
    for i in range(STEPS * 2):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=fixed):
            loss = model(data[i % 4], labels=data[i % 4]).loss
        loss.backward()
        optimizer.step()
    print("loss %.4f" % loss.item())


def healthy(fixed):
    """Nothing to gain: bf16, fused, channels last."""
    f32_convnet(True)


def resets_flags(fixed):
    """A trap: the program sets its flags in each step, and batches change their size."""
    import torch
    from torch import nn

    model = convnet((32, 64), False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(STEPS * 4):
        torch.backends.cudnn.benchmark = False
        size = 64 + 8 * (i % 7)
        x, y = torch.randn(16, 3, size, size, device="cuda"), torch.randint(10, (16,), device="cuda")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print("loss %.4f" % loss.item())


def several_flaws(fixed):
    """Four flaws at once: decoding in the training process, f32 channels first, an optimizer that loops, values read."""
    import torch
    from torch import nn

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return 64 * STEPS * 2

        def __getitem__(self, index):
            photo = torch.randn(3, 96, 96, generator=torch.Generator().manual_seed(index))
            return torch.nn.functional.avg_pool2d(photo[None], 3, 1, 1)[0], index % 10

    torch.manual_seed(0)
    model = convnet((64, 128, 256), fixed)
    arguments = {"fused": True} if fixed else {"foreach": False}
    loader = torch.utils.data.DataLoader(Photos(), batch_size=64, num_workers=8 if fixed else 0, pin_memory=fixed)
    form = torch.channels_last if fixed else torch.contiguous_format
    batches = ((x.cuda().to(memory_format=form), y.cuda()) for x, y in loader)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **arguments)
    losses = []
    loss_of = nn.CrossEntropyLoss()

    def noted(out, y):
        loss = loss_of(out, y)
        losses.append(loss.detach() if fixed else loss.item())
        return loss

    train(model, batches, noted, optimizer, torch.bfloat16 if fixed else None)


def reads_each_step(fixed):
    """A value is read in each step: no knob fixes it; the finding must name the line."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(40)], nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    x, y = torch.randn(64, 512, device="cuda"), torch.randint(10, (64,), device="cuda")
    total = 0.0
    for i in range(STEPS * 4):
        optimizer.zero_grad()
        out = x
        for block in model:
            out = block(out)
            if not fixed:
                total += out.abs().max().item()
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
    print("loss %.4f" % loss.item())


def late_memory(fixed):
    """A trap: at step 50 a batch twice as large comes; what leaves too little memory fails late."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = convnet((64, 128), False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    size = int(os.environ.get("BATCH", "64"))
    for i in range(STEPS * 4):
        count = size * (2 if i == 50 else 1)
        x, y = torch.randn(count, 3, 128, 128, device="cuda"), torch.randint(10, (count,), device="cuda")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print("loss %.4f" % loss.item())


def tiny_updates(fixed):
    """A trap: updates below what bf16 weights can hold. Autocast keeps weights in f32 and must not stall them."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 10)).cuda()
    data = [(torch.randn(512, 2048, device="cuda"), torch.randint(10, (512,), device="cuda")) for _ in range(4)]
    batches = (data[i % 4] for i in range(STEPS * 4))
    train(model, batches, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=1e-5))


PROGRAMS = {
    "several_flaws": (
        several_flaws,
        ["loader.workers=8", "precision.autocast=bf16", "channels_last=on", "optimizer.implementation=fused"],
    ),
    "reads_each_step": (reads_each_step, ["compile=default"]),
    "late_memory": (late_memory, ["channels_last=on", "cudnn.benchmark=on"]),
    "tiny_updates": (tiny_updates, ["precision.autocast=bf16"]),
    "slow_loader": (slow_loader, ["loader.workers=8", "loader.pin_memory=on"]),
    "f32_encoder": (f32_encoder, ["precision.autocast=bf16", "optimizer.implementation=fused", "compile=default"]),
    "small_encoder": (small_encoder, ["compile=reduce-overhead", "compile=default", "optimizer.implementation=fused"]),
    "loop_optimizer": (loop_optimizer, ["optimizer.implementation=fused", "compile=default"]),
    "f32_convnet": (
        f32_convnet,
        [
            "channels_last=on",
            "precision.autocast=bf16",
            "cudnn.benchmark=on",
            "channels_last=on precision.autocast=bf16",
        ],
    ),
    "f32_inference": (f32_inference, ["precision.inference=bf16", "channels_last=on precision.inference=fp16"]),
    "empties_cache": (empties_cache, ["memory.no_empty_cache=on"]),
    "f32_products": (f32_products, ["env.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1", "precision.autocast=bf16"]),
    "eager_gpt": (eager_gpt, ["attention.sdpa=on", "compile=default"]),
    "healthy": (healthy, ["channels_last=on", "precision.autocast=bf16"]),
    "resets_flags": (resets_flags, ["cudnn.benchmark=on", "compile=default"]),
}


# The probe


def report_of(folder):
    merged = {"knobs": [], "faults": []}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".jsonl"):
            continue
        for line in open(os.path.join(folder, name)):
            entry = json.loads(line)
            kind = entry.pop("k")
            if kind == "knob":
                merged["knobs"].append(entry)
            elif kind == "fault":
                merged["faults"].append("%s: %s" % (entry["where"], entry["what"]))
            elif kind in ("window", "loss", "outputs", "memory", "end"):
                merged[kind] = entry
    return merged


def hooked(name, settings, fixed=False):
    with tempfile.TemporaryDirectory() as folder:
        knobs = dict(s.split("=", 1) for s in settings.split()) if settings else {}
        plan = {"version": 1, "knobs": knobs, "warmup_steps": 8, "window_steps": STEPS, "stop": True, "seed": 1}
        with open(os.path.join(folder, "plan.json"), "w") as file:
            json.dump(plan, file)
        variables = dict(
            os.environ, PYTHONPATH=HOOK, WARPMARK_HOOK=os.path.join(folder, "plan.json"), WARPMARK_HOOK_REPORT=folder
        )
        variables.update({k[4:]: v for k, v in knobs.items() if k.startswith("env.")})
        begin = time.time()
        command = [sys.executable, os.path.abspath(__file__), "--program", name] + (["--fixed"] if fixed else [])
        try:
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
            failure = (
                "" if done.returncode == 0 else "exit %d: %s" % (done.returncode, done.stderr.strip().splitlines()[-1:])
            )
        except subprocess.TimeoutExpired:
            failure = "timed out"
        report = report_of(folder)
        report["failure"], report["wall"] = failure, time.time() - begin
        return report


def step_s(report):
    window = report.get("window")
    return window["seconds"] / window["steps"] if window else float("nan")


def row_of(label, report, base):
    losses = [v for v in report.get("loss", {}).get("values", []) if v is not None]
    force = ", ".join(
        "%s%s" % ("yes" if k["in_force"] else "NO", " (%s)" % k["said"] if k["said"] else "") for k in report["knobs"]
    )
    memory = report.get("memory", {}).get("reserved", 0) / 2**30
    text = "  %-44s %9.3f ms  %5.2fx  start %5.1f s  %5.2f GiB  loss %-9s in force: %s" % (
        label,
        step_s(report) * 1e3,
        base / step_s(report),
        report.get("window", {}).get("before", 0),
        memory,
        "%.5f" % losses[-1] if losses else "-",
        force or "-",
    )
    for problem in [report["failure"]] + report["faults"]:
        if problem:
            text += "\n      ! " + problem
    return text


def probe(names, minutes):
    begin, lines = time.time(), []
    for name in names:
        if time.time() - begin > minutes * 60:
            lines.append("%s: no time left" % name)
            continue
        function, knobs = PROGRAMS[name]
        original = hooked(name, "")
        base = step_s(original)
        lines.append("%s: %s" % (name, function.__doc__.strip()))
        lines.append(row_of("original", original, base))
        lines.append(row_of("original again", hooked(name, ""), base))
        for settings in knobs:
            if time.time() - begin > minutes * 60:
                break
            lines.append(row_of(settings, hooked(name, settings), base))
        lines.append(row_of("fixed by hand", hooked(name, "", fixed=True), base))
        print("%s done after %.0f s" % (name, time.time() - begin), flush=True)
    print("\n".join(lines))


SEARCH = "--start-ahead 14 --window 1s --rounds 6 --effect 5% --alpha 0.1 --no-store".split()


def search(warpmark, name, budget, out, more=(), ending=""):
    """The optimization, which stays in OUT/NAME.json, or None; and what was printed."""
    path = os.path.join(out, name + ending + ".json")
    command = [warpmark, "optimize", *SEARCH, *more, "--budget", "%ds" % budget, "--json", path]
    command += ["--db", os.path.join(out, name + ".db"), "--", sys.executable, os.path.abspath(__file__), "--program", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=budget + 60)
    with open(os.path.join(out, name + ending + ".txt"), "w") as file:
        file.write(done.stdout + done.stderr)
    if not os.path.exists(path):
        return done.returncode, None
    with open(path) as file:
        return done.returncode, json.load(file)


def lines_of(optimization):
    for finding in optimization.get("findings", []):
        gain = finding["gain"]
        yield "  found: %s, %.2f to %.2fx, %s" % (finding["title"], gain["low"], gain["high"], finding.get("where", "no line"))
    for step in optimization["steps"]:
        predicted, measured = step.get("predicted"), step.get("measured") or step.get("found")
        yield "  %s=%s %s: predicted %s, measured %s; %s" % (
            step["knob"],
            step["value"],
            step["outcome"],
            "%.2f to %.2f" % (predicted["low"], predicted["high"]) if predicted else "-",
            "%.3g" % measured["ratio"] if measured else "-",
            step["reason"],
        )
    whole = optimization.get("measured_speedup")
    yield "  whole: %s; %s; %s; %d runs in %.0f s" % (
        "%.3g (%.3g to %.3g)" % (whole["ratio"], whole["low"], whole["high"]) if whole else "not measured",
        optimization["verdict"],
        optimization["plan"],
        optimization["cost"]["runs"],
        optimization["cost"]["seconds"],
    )


def full(warpmark, names, minutes, budget, out):
    begin = time.time()
    os.makedirs(out, exist_ok=True)
    for name in names:
        left = min(budget, minutes * 60 - (time.time() - begin) - 25)
        if left < 30:
            print("%s: no time left" % name, flush=True)
            continue
        files = os.path.join(out, name + ".files")
        code, optimization = search(warpmark, name, left, out, ["--out", files])
        print("%s: exit %d" % (name, code), *(lines_of(optimization) if optimization else []), sep="\n", flush=True)
        left = min(90, minutes * 60 - (time.time() - begin) - 25)
        if optimization and optimization["plan"] and left > 30:  # measured by an independent run, with other seeds
            again = ["--prove", os.path.join(files, "plan.yaml"), "--seed", "2"]
            code, proven = search(warpmark, name, left, out, again, ".again")
            whole = proven.get("measured_speedup") if proven else None
            print("  once more: exit %d, %s" % (code, "%.3gx" % whole["ratio"] if whole else "not measured"), flush=True)
        fixed = hooked(name, "", fixed=True)
        print("  fixed by hand: %.2fx" % (step_s(hooked(name, "")) / step_s(fixed)), flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--program")
    options.add_argument("--fixed", action="store_true")
    options.add_argument("--full", metavar="WARPMARK")
    options.add_argument("--minutes", type=float, default=9)
    options.add_argument("--budget", type=float, default=180, help="of a search, in seconds")
    options.add_argument("--out", default="searches", help="folder for optimizations and what was printed")
    given = options.parse_args()
    if given.program:
        return PROGRAMS[given.program][0](given.fixed)
    names = given.names or list(PROGRAMS)
    if given.full:
        return full(given.full, names, given.minutes, given.budget, given.out)
    return probe(names, given.minutes)


if __name__ == "__main__":
    main()
