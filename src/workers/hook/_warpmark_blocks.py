"""Blocks of steps that are timed with a variant's settings on: command "blocks" of the lab."""

import _warpmark_commands as commands
import _warpmark_set_compile as compiling
import _warpmark_steps as steps

PHASES = ("wait", "forward", "backward", "optimizer")
MAX_REPEATS = 3  # of a block in which a compiler was at work


class Variant:
    """Settings that are on together. `failed` is empty until they break the program or the hook."""

    def __init__(self, lab, number, wanted):
        self.lab = lab
        self.number = number
        self.failed = ""
        self.nothing = {}  # setting -> why it changed nothing
        self.elsewhere = []  # settings that need a process of their own
        self.changed = set()  # settings that changed something in some block
        self.warm_s = None  # from its first switch until its first timed step
        self.notes = {}
        self.settings = {}  # setting -> value
        self.active = []
        self.compiles = "compile" in wanted
        for name in sorted(wanted, key=lambda name: name == "compile"):  # the compiler sees what the others changed
            setting = lab.hook.settings.by_name.get(name)
            if setting is not None and setting.switchable:
                self.settings[setting] = wanted[name]
            else:
                self.elsewhere.append(name)

    def on(self):
        """The variant goes on without a setting that cannot be switched on."""
        for setting, value in list(self.settings.items()):
            self.active.append(setting)
            try:
                setting.on(value)
            except commands.Elsewhere:
                self.active.pop()
                if setting.name not in self.elsewhere:
                    self.elsewhere.append(setting.name)
            except commands.Cannot as why:
                self.active.pop()
                self.nothing[setting.name] = str(why)
            except Exception as problem:
                self.nothing[setting.name] = commands.text_of(problem)
                del self.settings[setting]
                self.off_one()
        return True

    def off(self):
        while self.active:
            self.off_one()

    def off_one(self):
        setting = self.active.pop()
        try:
            setting.off()
        except Exception as problem:
            self.failed = self.failed or commands.text_of(problem)
            self.lab.hook.report.fault("off: " + setting.name, problem)

    def see_changes(self):
        """At the end of a block, while the settings are on."""
        for setting in self.active:
            try:
                why = setting.problem()
            except Exception as problem:
                self.failed = self.failed or commands.text_of(problem)
                continue
            if setting.note:
                self.notes[setting.name] = setting.note
            if why is None:
                self.changed.add(setting.name)
                self.nothing.pop(setting.name, None)
            elif setting.name not in self.changed:
                self.nothing[setting.name] = why

    def warming(self):
        """Whether a compiler may still be at work, by the number of its graphs."""
        return next((s for s in self.active if s.name == "compile"), None)

    def answer(self):
        return {
            "failed": self.failed,
            "nothing": self.nothing,
            "elsewhere": self.elsewhere,
            "notes": self.notes,
            "warm_seconds": self.warm_s or 0.0,
        }


class Blocks(commands.Command):
    def __init__(self, lab, wanted):
        super().__init__(lab, wanted)
        self.recorder = lab.recorder
        self.variants = [Variant(lab, number, one.get("knobs", {})) for number, one in enumerate(wanted["variants"])]
        self.left = list(wanted["blocks"])
        self.done = []
        self.block = None

    def begin(self):
        return self.next_block()

    def next_block(self):
        """To the next block's variant. True where no block is left."""
        while self.left:
            self.block = self.left.pop(0)
            self.variant = self.variants[self.block["variant"]]
            if self.variant.failed and self.lab.alone():
                continue
            self.switched_s = steps.clock()
            if self.lab.variant is not self.variant:
                self.lab.switch_to(self.variant)
                if self.variant.failed and self.lab.alone():
                    continue
            self.wash = int(self.block.get("wash", 0))
            self.repeats = 0
            self.restart()
            return False
        self.lab.switch_to(None)
        return True

    def restart(self):
        self.count = 0
        self.timing = False
        self.watch = None  # of the compiler, once it is on
        if self.washed():
            self.begin_timing()

    def step(self, row):
        if self.variant.failed and self.lab.alone():  # in this step
            return self.next_block()
        evaluated_s = self.recorder.evaluation.seconds
        if self.timing and evaluated_s is not None:  # a step that holds an evaluation is no step of the training
            self.begin_s += evaluated_s
            self.left_out += 1
            self.left_out_s += evaluated_s
            if self.lab.alone():
                return False
        self.count += 1
        if not self.timing:
            if self.washed():
                self.begin_timing()
            return False
        self.samples += row[-1]
        self.sums = [total + part for total, part in zip(self.sums, row)]
        if self.is_long_enough():
            if self.compiled_meanwhile():
                self.repeats += 1
                self.restart()
                return False
            self.end_block()
            return self.next_block()
        return False

    def washed(self):
        if self.count < self.wash:
            return False
        if not self.variant.compiles or self.variant.warm_s is not None:
            return True
        if not self.lab.alone():
            return self.count >= self.wash + compiling.CompilerWatch.STEPS_OF_RANKS
        compiler = self.variant.warming()
        if compiler is None:
            return True
        self.watch = self.watch or compiling.CompilerWatch(compiler)
        return self.watch.step() or self.count >= self.wash + compiling.CompilerWatch.MOST_STEPS

    def begin_timing(self):
        self.recorder.device.begin_peak()
        self.count = 0
        self.left_out = 0
        self.left_out_s = 0.0
        self.samples = 0
        self.sums = [0.0] * len(PHASES)
        self.timing = True
        self.graphs_before = self.compiled_graphs()
        self.begin_s = steps.clock()
        if self.variant.warm_s is None:
            self.variant.warm_s = self.begin_s - self.switched_s

    def is_long_enough(self):
        if self.count >= int(self.block["steps"]):
            return True
        seconds = float(self.block.get("seconds", 0))
        enough = self.count >= max(1, int(self.block.get("least", 1))) and self.count % self.block.get("whole", 1) == 0
        return bool(seconds and enough and self.lab.alone() and steps.clock() - self.begin_s >= seconds)

    def compiled_graphs(self):
        compiler = self.variant.warming() if self.variant.compiles and self.lab.alone() else None
        return 0 if compiler is None else compiler.graphs()

    def compiled_meanwhile(self):
        """As for the smaller batch at the end of an epoch, which is compiled once in the whole training."""
        return self.repeats < MAX_REPEATS and self.compiled_graphs() != self.graphs_before

    def end_block(self):
        self.recorder.device.synchronize()
        seconds = steps.clock() - self.begin_s
        self.variant.see_changes()
        if self.variant.failed:
            return
        # Between ranks the count goes on over an evaluation; only the rank that evaluates knows what it took.
        counted = self.count if self.lab.alone() else self.count - self.left_out
        entry = {"variant": self.variant.number, "steps": counted, "seconds": seconds, "samples": self.samples}
        entry["left_out"] = self.left_out
        entry["left_out_seconds"] = self.left_out_s
        entry.update(zip(PHASES, self.sums))
        cuda = self.lab.torch.cuda if self.recorder.device.on_cuda() else None
        entry["memory"] = cuda.max_memory_allocated() if cuda is not None else 0
        entry["reserved"] = cuda.max_memory_reserved() if cuda is not None else 0
        self.done.append(entry)

    def broken(self, why):
        self.variant.failed = self.variant.failed or why
        return self.next_block() if self.lab.alone() else False

    def answer(self):
        return {"blocks": self.done, "variants": [variant.answer() for variant in self.variants]}
