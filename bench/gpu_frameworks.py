#!/usr/bin/env python3
"""Programs of HF Trainer and Lightning under the hook, and under a whole search.

    python3 bench/gpu_frameworks.py                      # the hook: steps, output, knobs in force, screening
    python3 bench/gpu_frameworks.py --full WARPMARK      # the same programs under `warpmark optimize`
    python3 bench/gpu_frameworks.py --program trainer    # one program as users run it (trainer, lightning, closure)

Models are small, of random weights, and data is made on the spot: nothing is fetched. `closure` is plain PyTorch with an
optimizer that computes the loss itself, as Lightning has it. A framework that is not installed is named and left out. It
ends with 1 where steps were not found, the output changed, or a knob was not in force.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = os.path.join(HERE, "..", "src", "workers", "hook")
STEPS = 40
HAS_GPU = os.path.exists("/dev/nvidiactl")
NEEDS = {"trainer": ["transformers", "accelerate"], "lightning": ["pytorch_lightning"], "closure": []}


# Programs


def trainer(steps):
    """A small GPT-2 in the Trainer of transformers."""
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Tokens(torch.utils.data.Dataset):
        def __len__(self):
            return 8 * steps

        def __getitem__(self, index):
            ids = torch.randint(1000, (128,), generator=torch.Generator().manual_seed(index))
            return {"input_ids": ids, "labels": ids}

    transformers.set_seed(0)
    config = GPT2Config(vocab_size=1000, n_positions=128, n_embd=256, n_layer=4, n_head=4, resid_pdrop=0, embd_pdrop=0)
    config.attn_pdrop = 0
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=8,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            optim="adamw_torch",
            seed=0,
        )
        work = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Tokens())
        work.remove_callback(transformers.PrinterCallback)  # it prints times
        work.train()
        for row in work.state.log_history:
            if "loss" in row:
                print("step %d: loss %.2f" % (row["step"], float(row["loss"])))


def lightning(steps):
    """A convolutional network in the Trainer of Lightning."""
    import pytorch_lightning
    import torch
    from torch import nn

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 32 * steps

        def __getitem__(self, index):
            return torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(index)), index % 10

    class Net(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(3, 64, 3),
                nn.ReLU(),
                nn.Conv2d(64, 64, 3),
                nn.AdaptiveAvgPool2d(4),
                nn.Flatten(),
                nn.Linear(1024, 10),
            )

        def training_step(self, batch, number):
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            if number % 10 == 9:
                print("step %d: loss %.2f" % (number, loss.item()))
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    pytorch_lightning.seed_everything(0)
    work = pytorch_lightning.Trainer(
        max_steps=steps,
        accelerator="auto",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    work.fit(Net(), torch.utils.data.DataLoader(Images(), batch_size=32))


def closure(steps):
    """Plain PyTorch; the optimizer calls what computes the loss."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8 * steps, 64)), batch_size=8)
    for number, (x,) in enumerate(loader):

        def loss_of():
            optimizer.zero_grad()
            loss = model(x.to(device)).square().mean()
            loss.backward()
            return loss

        loss = optimizer.step(loss_of)
        if number % 10 == 9:
            print("step %d: loss %.3f" % (number, loss.item()))


PROGRAMS = {"trainer": trainer, "lightning": lightning, "closure": closure}
SWITCHES = ("precision.autocast=bf16", "optimizer.implementation=", "python.gc_freeze=on", "channels_last=on", "tf32=1")


# The hook


def words(name, steps=STEPS):
    return [sys.executable, os.path.abspath(__file__), "--program", name, "--steps", str(steps)]


class Run:
    """One process; with a plan, under the hook."""

    def __init__(self, name, plan=None, steps=STEPS):
        self.folder = tempfile.mkdtemp()
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", CUDA_VISIBLE_DEVICES="0")
        if plan is not None:
            path = os.path.join(self.folder, "plan.json")
            with open(path, "w") as file:
                json.dump(dict({"version": 1, "knobs": {}, "warmup_steps": 5}, **plan), file)
            environment.update(
                WARPMARK_HOOK=path,
                WARPMARK_HOOK_REPORT=self.folder,
                PYTHONPATH=HOOK + os.pathsep + os.environ.get("PYTHONPATH", ""),
            )
        self.process = subprocess.Popen(
            words(name, steps),
            env=environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, deadline):
        try:
            self.out, self.err = self.process.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, self.err = self.process.communicate()
            self.err += "\ntimed out"
        self.lines = []
        for file in sorted(os.listdir(self.folder)):
            if file.endswith(".jsonl"):
                with open(os.path.join(self.folder, file)) as report:
                    self.lines += [json.loads(line) for line in report if line.endswith("\n")]
        shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def all(self, kind):
        return [line for line in self.lines if line["k"] == kind]

    def trouble(self):
        lines = [fault["where"] + ": " + fault["what"] for fault in self.all("fault")]
        if self.process.returncode:
            lines += ["exit code %d" % self.process.returncode] + self.err.strip().splitlines()[-1:]
        return lines


def knobs_for(name):
    knobs = {"loader.workers": "2", "python.gc_freeze": "on"}
    if HAS_GPU:
        knobs.update({"precision.autocast": "bf16", "optimizer.implementation": "fused"})
    if name == "lightning":
        knobs["channels_last"] = "on"
    return knobs


def switches_for():
    found = [s if not s.endswith("=") else s + ("fused" if HAS_GPU else "foreach") for s in SWITCHES]
    return [dict(zip(("id", "value"), s.split("="))) for s in found if HAS_GPU or not s.startswith("tf32")]


def check(name, deadline):
    """Three at once, as none of these is timed; the screening alone."""
    good = True
    plain, hooked = Run(name), Run(name, {})
    knobbed = Run(name, {"knobs": knobs_for(name)})
    for run in (plain, hooked, knobbed):
        run.end(deadline)
    rows = sum(len(line["rows"]) for line in hooked.all("steps"))
    same = hooked.out == plain.out and plain.out.count("loss") >= 3
    good = good and rows == STEPS and same
    print("%s: %s" % (name, PROGRAMS[name].__doc__.strip()))
    print("  steps found: %d of %d; output %s" % (rows, STEPS, "is the same" if same else "DIFFERS"))
    if not same:
        print("  without the hook: %r\n  with it: %r" % (plain.out[-300:], hooked.out[-300:]))
    wanted = knobs_for(name)
    for knob in knobbed.all("knob"):
        good = good and knob["in_force"]
        wanted.pop(knob["id"], None)
        print("  %-28s %s %s" % (knob["id"], "in force" if knob["in_force"] else "NOT IN FORCE", knob["said"]))
    good = good and not wanted
    if wanted:
        print("  nothing was told of %s" % ", ".join(wanted))
    for run in (plain, hooked, knobbed):
        for line in run.trouble():
            good = False
            print("  ! " + line)
    return good


def screen(name, deadline):
    switches = switches_for()
    plan = {"switches": switches, "rounds": 7, "block": 10, "wash": 4, "seed": 1, "seconds": 10}
    run = Run(name, {"screening": plan, "stop": True}, steps=100000 // 8).end(deadline)
    means = {}
    for block in run.all("block"):
        if block["round"] > 0:
            means.setdefault(block["arm"], []).append(block["seconds"] / block["steps"])
    said = {line["arm"]: line["said"] for line in run.all("switch")}
    if 0 not in means:
        print("  screening: NO BLOCKS %s" % run.trouble())
        return False
    middle = lambda values: sorted(values)[len(values) // 2]
    base = middle(means[0] + means.get(1, []))
    print("  screening: %.2f ms a step, %d rounds" % (base * 1e3, len(means[0])))
    for number, switch in enumerate(switches):
        times = means.get(number + 2)
        gain = "%.3fx (%.3f to %.3f)" % (base / middle(times), base / max(times), base / min(times)) if times else "-"
        print("    %-34s %s %s" % ("%(id)s=%(value)s" % switch, gain, said.get(number + 2, "")))
    for line in run.trouble():
        print("  ! " + line)
    return not run.trouble()


def full(warpmark, name, budget):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journey.json")
        command = [os.path.abspath(warpmark), "optimize", "--window", "1s", "--budget", "%ds" % budget, "--json", path, "--no-store"]
        command += ["--db", os.path.join(folder, "w.db"), "--"] + words(name, 4000)
        done = subprocess.run(command, capture_output=True, text=True, timeout=budget + 60, cwd=folder)
        print("%s under warpmark optimize: exit %d" % (name, done.returncode))
        print("\n".join("  " + line for line in done.stderr.strip().splitlines()))
        if not os.path.exists(path):
            return False
        with open(path) as file:
            journey = json.load(file)
    print("  baseline: %s" % {k: v for k, v in journey["baseline"].items() if k != "phases"})
    print("  phases: %s" % {k: round(v, 3) for k, v in journey["baseline"]["phases"].items()})
    cost = journey["cost"]
    print("  %s; %s; %d runs in %.0f s" % (journey["verdict"], journey["plan"], cost["runs"], cost["seconds"]))
    return journey["times_of"] != "run"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", help="trainer, lightning, closure; default: all")
    options.add_argument("--program")
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--full", metavar="WARPMARK")
    options.add_argument("--budget", type=int, default=100, help="seconds of each search")
    options.add_argument("--deadline", type=int, default=90, help="seconds of each run")
    given = options.parse_args()
    if given.program:
        return PROGRAMS[given.program](given.steps)
    good = True
    for name in given.names or list(PROGRAMS):
        missing = [module for module in NEEDS[name] if importlib.util.find_spec(module) is None]
        if missing:
            print("%s: not installed: %s" % (name, ", ".join(missing)))
            continue
        begin = time.time()
        if given.full:
            good = full(given.full, name, given.budget) and good
        else:
            good = check(name, given.deadline) and good
            good = screen(name, given.deadline) and good
        print("  (%.0f s)" % (time.time() - begin), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
