"""Ddp fables yogi per parameter: optimizer. Cured by: the same Yogi with torch._foreach functions."""
import torch

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


class Yogi:
    """Adam whose mean of squares changes by no more than the new square; `lists`: all weights in a few operations."""

    def __init__(self, model, lists, rate=1e-4, first=0.9, second=0.999, least=1e-3):
        self.weights, self.lists = list(model.parameters()), lists
        self.rate, self.first, self.second, self.least = rate, first, second, least
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.full_like(weight, 1e-6) for weight in self.weights]

    def zero_grad(self, set_to_none=True):
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self):
        gradients = [weight.grad for weight in self.weights]
        if self.lists:
            torch._foreach_mul_(self.means, self.first)
            torch._foreach_add_(self.means, gradients, alpha=1 - self.first)
            new = torch._foreach_mul(gradients, gradients)
            ways = torch._foreach_sub(self.squares, new)
            torch._foreach_sign_(ways)
            torch._foreach_addcmul_(self.squares, ways, new, value=self.second - 1)
            roots = torch._foreach_sqrt(self.squares)
            torch._foreach_add_(roots, self.least)
            torch._foreach_addcdiv_(self.weights, self.means, roots, value=-self.rate)
            return
        for weight, gradient, mean, square in zip(self.weights, gradients, self.means, self.squares):
            mean.mul_(self.first).add_(gradient, alpha=1 - self.first)
            new = gradient * gradient
            square.addcmul_((square - new).sign_(), new, value=self.second - 1)
            weight.addcdiv_(mean, square.sqrt().add_(self.least), value=-self.rate)


def program(kind):
    with torch.device(GPU):
        network = Decoder(dim=1024, layers=20, heads=16, length=1024)
    model = parallel(network, gradient_as_bucket_view=True)
    return training(model, next_token, resident(*tokens(4, 1024)), Yogi(model, kind == "cured"))
