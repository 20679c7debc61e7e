"""What the program computes: losses, the roots of backward, and outputs of programs that do not train. Kept as tensors
and read where the window ends, so that no step waits for the GPU.
"""

import _warpmark_tensors as tensors

MOST_LOSSES, MOST_OUTPUTS = 100000, 6


class Values:
    def __init__(self, torch):
        self.torch = torch
        self.losses = []
        self.outputs = []
        self.half_outputs = False

    def loss(self, loss):
        if isinstance(loss, self.torch.Tensor) and loss.numel() == 1 and len(self.losses) < MOST_LOSSES:
            self.losses.append(loss.detach().clone())

    def output(self, out):
        sample = tensors.output_sample(self.torch, out) if len(self.outputs) < MOST_OUTPUTS else None
        if sample is not None:
            self.outputs.append(sample[0])
            self.half_outputs |= sample[1]

    def notify(self, report):
        if self.losses:
            report.add("loss", values=tensors.numbers(self.torch, self.losses))
        if self.outputs:
            values = [[tensors.number(v) for v in o.tolist()] for o in self.outputs]
            report.add("outputs", values=values, half=self.half_outputs)
