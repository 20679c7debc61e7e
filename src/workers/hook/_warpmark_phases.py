"""The step so far: how long the host waited for data and was in forward and backward; and what is no part of a training."""

import time

clock = time.perf_counter


class Phases:
    def __init__(self):
        self.backward_depth = 0
        self.begin()

    def begin(self):
        self.wait = self.forward = self.backward = 0.0
        self.samples = self.fed = 0  # of the arguments of the first forward; of the batches of loaders
        self.backwards = 0

    def elsewhere(self):
        """Seconds that are none of the optimizer's."""
        return self.wait + self.forward + self.backward

    def end(self, optimizer_s):
        """Seconds of wait, forward, backward and optimizer; samples; backwards."""
        step = (self.wait, self.forward, self.backward, optimizer_s), self.fed or self.samples, self.backwards
        self.begin()
        return step


class Evaluation:
    """From the first forward without gradients, of a module in eval() mode, in a step of a training to the end of the
    step, unless the step before had one, too, as with a teacher or a target network."""

    def __init__(self, device):
        self.device = device
        self.began = None  # in the step so far
        self.usual = False  # the step before had one
        self.seconds = None  # of the last step; None: without

    def begin(self):
        if self.began is None:
            self.device.synchronize()
            self.began = clock()

    def end_step(self):
        began, self.began = self.began, None
        usual, self.usual = self.usual, began is not None
        self.seconds = None
        if began is not None and not usual:
            self.device.synchronize()
            self.seconds = clock() - began
