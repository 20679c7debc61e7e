"""Greedy decoding of a causal network: a prompt is taken in, then each word follows from those before it, whose keys and
values are kept."""

import copy

import torch

import wm_networks as networks
from wm_training import Refused, Training, clock


COUNTED = 4  # words of which the operations are counted; a long generation has the same ones again
CHECKED = 64  # words, of
SAMPLES = 2  # samples


class Decoding(Training):
    def __init__(self, ask):
        if ask["model"] not in ("gpt2", "llama"):
            raise Refused("unsupported", "%s does not decode" % ask["model"], "gpt2 and llama do")
        self.new_words = int(ask["new_tokens"])
        self.counted_words = min(COUNTED, self.new_words)
        super().__init__(ask)
        self.prompts = [inputs[0].to(self.device) for inputs, _ in self.pool]
        self.next_prompt = 0

    def count(self):
        prompt = self.pool[0][0][0].to(self.device)
        return networks.forward_flops(self.model, lambda: self.generate(prompt, most=self.counted_words))

    def generate(self, prompt, mark=None, odds=None, most=None):
        """The new words, or the first `most`; `mark()` is called after each, when its number is known to the host; `odds`
        takes all logits."""
        new_words = most or self.new_words
        cache = networks.Cache(len(self.model.blocks), prompt.shape[1] + new_words)
        ids, words = prompt, []
        with torch.no_grad(), self.autocast():
            for _ in range(new_words):
                out = self.model.go_on(ids, cache)[:, -1]
                if odds is not None:
                    odds.append(out.float())
                ids = out.argmax(-1, keepdim=True)
                words.append(ids)
                if mark is not None:
                    ids[0].item()
                    mark()
        return torch.cat(words, 1)

    def prompt(self):
        self.next_prompt += 1
        return self.prompts[self.next_prompt % len(self.prompts)]

    def window(self, steps, ring):
        self.meet()
        begin = clock()
        for i in range(steps):
            self.generate(self.prompt())
            ring.note(ring.STEP, i, clock())
        self.meet()
        return begin, clock()

    def phases(self, steps, ring):
        """The prompt up to its first word, and each word after it, as somebody sees them who waits for each."""
        self.meet()
        first, prefill, token = clock(), ring.FIRST_PHASE + ring.PREFILL, ring.FIRST_PHASE + ring.TOKEN
        for i in range(steps):
            times = [clock()]
            self.generate(self.prompt(), lambda: times.append(clock()))
            spans = [(b - a) * 1e-9 for a, b in zip(times, times[1:])]
            ring.note(ring.WHOLE, i, times[-1], value=(times[-1] - times[0]) * 1e-9)
            for j, span in enumerate(spans):
                ring.note(prefill if j == 0 else token, i, times[j + 1], value=span)
        self.meet()
        return first, clock()

    def reference(self):
        """Relative difference of the logits by way of the cache from those of a network in fp64 that reads the whole text
        anew for each word; and how many words differ although the fp64 network is sure of them."""
        self.kept_memory = self.memory()
        if not self.small_enough():
            return None
        prompt = self.prompts[0][:SAMPLES]
        kept = []
        words = self.generate(prompt, odds=kept, most=min(CHECKED, self.new_words))
        ours = torch.stack(kept, 1).double()
        text = torch.cat((prompt, words), 1)
        cross_check = copy.deepcopy(self.model).double().eval()
        with torch.no_grad():
            right = cross_check(text)[:, prompt.shape[1] - 1 : -1]
        error = float((ours - right).norm() / right.norm())
        best = right.topk(2, -1)
        sure = best.values[..., 0] - best.values[..., 1] > 2 * (ours - right).abs().amax(-1)
        self.differing = int(((words != best.indices[..., 0]) & sure).sum())
        return error
