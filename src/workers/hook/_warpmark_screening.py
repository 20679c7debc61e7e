"""Blocks of steps in one process, each with one knob on or with none, in random order.

A round has two blocks without a knob (what these differ by is the noise) and one with each knob. Between blocks some
steps wash out what the one before left: caches, memory pools, kernels that are chosen at their first use. All ranks of
a program switch at the same steps, as the order comes from the seed and blocks are counted in steps: a knob that one
rank leaves out keeps its steps there. The process is for nothing else: what switching leaves behind in weights and
optimizers is gone with it.
"""

import random

import _warpmark_steps as steps
import _warpmark_switches as switches

BASE, AGAIN = 0, 1  # arms without a knob; knobs follow


class Screening:
    def __init__(self, wanted, knobs, recorder):
        self.rounds = int(wanted["rounds"])
        self.block = int(wanted["block"])
        self.wash = max(1, int(wanted["wash"]))
        self.most_s = float(wanted.get("seconds", 0))  # 0: without limit; ranks end together, by rounds alone
        self.seed = int(wanted["seed"])
        self.recorder = recorder
        self.report = recorder.report
        self.names = [(each["id"], each["value"]) for each in wanted["switches"]]
        self.cannot = {}  # arm -> why it is left out from the beginning
        self.arms = {}
        for number, (name, value) in enumerate(self.names):
            arm = number + 2
            if name not in switches.SWITCHES:
                self.cannot[arm] = "it cannot be switched within a process"
                continue
            try:
                self.arms[arm] = switches.SWITCHES[name](knobs, name, value)
            except Exception as problem:
                self.cannot[arm] = str(problem)[:300]
        self.on = None  # the switch that is on
        self.restart()

    def restart(self):
        """From the first round on, with nothing switched on."""
        on, self.on = self.on, None
        self.random = random.Random(self.seed)
        self.said = dict(self.cannot)  # arm -> why it is left out
        self.round = -1
        self.began = None
        self.ended = False
        self.order = []
        self.arm = None
        self.count = 0
        self.samples = 0
        self.begin = 0.0
        if on is not None:
            on.off()

    def step(self, samples):
        """After each step from the end of the warm-up on; true where all rounds are over."""
        if self.arm is None:
            return not self.next_block()
        self.count += 1
        if self.count == self.wash:
            self.recorder.synchronize()
            self.begin = steps.clock()
            self.samples = 0
        elif self.count > self.wash:
            self.samples += samples
        if self.count < self.wash + self.block:
            return False
        self.recorder.synchronize()
        seconds = steps.clock() - self.begin
        if self.held():
            self.report.add(
                "block", arm=self.arm, round=self.round, steps=self.block, seconds=seconds, samples=self.samples
            )
        return not self.next_block()

    def held(self):
        """A knob that changed nothing is left out from now on, with its reason."""
        if self.on is None:
            return self.arm not in self.said
        problem = self.on.problem()
        if problem is not None:
            self.said[self.arm] = problem
        return problem is None

    def next_block(self):
        if self.on is not None:
            self.on.off()
            self.on = None
        while True:
            while not self.order:
                if self.over():
                    return False
                self.round += 1
                self.order = [BASE, AGAIN] + list(range(2, 2 + len(self.names)))
                self.random.shuffle(self.order)
            self.arm = self.order.pop()
            self.count = 0
            if self.arm not in self.said:
                self.put_on()
            elif not self.alone():
                self.report.add("switching", arm=BASE)
            if self.arm not in self.said or not self.alone():
                return True

    def put_on(self):
        self.report.add("switching", arm=self.arm)
        switch = self.arms.get(self.arm)
        if switch is None:
            return
        try:
            switch.on()
            self.on = switch
        except Exception as problem:
            self.said[self.arm] = str(problem)[:300]
            switch.off()
            self.report.add("switching", arm=BASE)

    def alone(self):
        """Other ranks may have left out other knobs, and know nothing of this one's clock."""
        return steps.world_size(self.recorder.torch) == 1

    def over(self):
        if self.began is None:
            self.began = steps.clock()
        late = self.most_s and steps.clock() - self.began > self.most_s
        early = self.alone() and (late or not any(arm not in self.said for arm in self.arms))
        self.ended = bool(early or self.round + 1 >= self.rounds)
        return self.ended

    def tell(self, report):
        if self.ended:
            report.add("switching", arm=-1)
        for number, (name, value) in enumerate(self.names):
            report.add("switch", arm=number + 2, id=name, value=value, said=self.said.get(number + 2, ""))
