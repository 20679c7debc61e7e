"""The lab: after the measured window the process lives on, and the tool switches settings between its steps.

Each rank writes ready-RANK.json, then reads command-0.json, command-1.json, ... and writes answer-N-RANK.json for each.
It waits for a command at the end of a step and runs it over the steps that follow. While settings of a command are on,
working-RANK.json names them, so that the tool can attribute a crash. The process ends when the folder disappears.
"""

import json
import os
import time

import _warpmark_blocks as blocks
import _warpmark_check as check
import _warpmark_commands as commands
import _warpmark_program as program
import _warpmark_record as record

POLL_S = 0.005


def whole_file(path, value):
    with open(path + ".part", "w", encoding="ascii") as file:
        json.dump(value, file, default=str)
    os.rename(path + ".part", path)


class Lab:
    def __init__(self, folder, hook):
        self.folder = folder
        self.hook = hook
        self.recorder = hook.recorder
        self.torch = hook.torch
        self.process = os.getpid()
        self.number = 0  # of the command that runs, or that comes next
        self.command = None
        self.variant = None  # whose settings are on
        self.began = False

    # Called at the end of a step, in a forward, and at the exit of the program

    def begin(self):
        """Once, where the measured window ends."""
        self.rank = rank_of(self.torch)
        ready = self.path("ready")
        if os.path.exists(ready):  # of another process without ranks; one at a time can take commands
            self.recorder.program.leave()
        self.began = True
        whole_file(ready, {"world": program.world_size(self.torch)})
        self.run(self.next_command)

    def step(self, row):
        """`row`: seconds of wait, forward, backward and optimizer, and samples of the step that ended."""
        self.run(lambda: self.command.step(row))

    def run(self, part):
        """What cannot be answered ends the process: nothing else is of use in it."""
        try:
            if not os.path.isdir(self.folder):
                self.recorder.program.leave()
            while self.is_over(part):
                part = self.next_command
        except Exception as problem:
            self.hook.report.fault("lab", problem)
            self.recorder.program.leave()

    def is_over(self, part):
        """Runs a part of a command. True where it was the last one, and the answer is written."""
        try:
            over = part()
        except Exception as problem:
            self.hook.report.fault("lab", problem)
            self.switch_to(None)
            over = self.command.broken(commands.text_of(problem))
        if over:
            self.answer(ended=False)
        return over

    def restart(self):
        """The program began to mark its steps in another way."""
        if self.command is not None:
            self.command.restart()

    def before_forward(self, module, args, kwargs, run):
        """Of a module that the program calls itself. `run` takes a module and its arguments."""
        if self.command is not None and os.getpid() == self.process and not self.recorder.program.in_loader():
            self.command.before_forward(module, args, kwargs, run)

    def take_failure(self, problem):
        """Whether settings were on: then they failed, they are off now, and the same call is made again."""
        variant = self.variant
        if variant is None or os.getpid() != self.process or self.recorder.graphs.capturing():
            return False
        if "CUDA error" in str(problem):  # after which nothing runs on the GPU; `working` names the variant
            return False
        variant.failed = commands.text_of(problem)
        self.switch_to(None)
        return True

    def end(self):
        """At exit: what is known of a command that was not over."""
        if not self.began or os.getpid() != self.process:
            return
        self.began = False
        if self.command is not None:
            self.switch_to(None)
            self.answer(ended=True)
        self.hook.loaders.close()

    # Commands

    def next_command(self):
        path = os.path.join(self.folder, "command-%d.json" % self.number)
        while not os.path.exists(path):
            if not os.path.isdir(self.folder):
                self.recorder.program.leave()
            time.sleep(POLL_S)
        with open(path, encoding="utf-8") as file:
            wanted = json.load(file)
        self.command = KINDS.get(wanted["do"], Unknown)(self, wanted)
        return self.command.begin()

    def answer(self, ended):
        try:
            answer = dict(self.command.answer(), ended=ended)
        except Exception as problem:
            answer = {"failed": commands.text_of(problem), "ended": ended}
        if os.path.isdir(self.folder):
            whole_file(self.path("answer-%d" % self.number), answer)
        self.number += 1
        self.command = None

    def path(self, name):
        return os.path.join(self.folder, "%s-%s.json" % (name, self.rank))

    def alone(self):
        """Several ranks must make the same steps, so that none of them may decide by its own clock."""
        return program.world_size(self.torch) == 1

    # Settings

    def switch_to(self, variant):
        """From the variant that is on, or none, to another one, or to none."""
        before, self.variant = self.variant, None
        if before is not None:
            before.off()
        if variant is None or not variant.settings or variant.failed:
            return self.working(None)
        self.working(variant)
        if variant.on():
            self.variant = variant
        else:
            self.working(None)

    def working(self, variant):
        path = self.path("working")
        if variant is not None:
            if os.path.isdir(self.folder):
                whole_file(path, {"command": self.number, "variant": variant.number})
        elif os.path.exists(path):
            os.unlink(path)


class End(commands.Command):
    def begin(self):
        self.lab.answer(ended=False)
        self.lab.recorder.program.leave()


class Unknown(commands.Command):
    def begin(self):
        raise ValueError("the hook does not know the command %r" % self.wanted["do"])


KINDS = {"blocks": blocks.Blocks, "check": check.Check, "record": record.Record, "end": End}


def rank_of(torch):
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    rank = os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or os.environ.get("OMPI_COMM_WORLD_RANK") or "0"
    return int(rank) if rank.isdigit() else 0
