"""Residual network on 128x128 pictures, batch 128, bf16: data_loading. Flaw: the training loop crops, flips and
scales the pictures with numpy. Cured by: 12 threads make the batches ahead and put them on the GPU."""
import collections
import concurrent.futures
import itertools

import jax
import numpy as np

from shared.jax_layers import resnet_loss, resnet_weights, trainer


def program(cured):
    rng = np.random.default_rng(1)
    batch, side, crop = 128, 160, 128
    pictures = rng.integers(0, 256, (1024, side, side, 3), dtype=np.uint8)
    kinds = rng.integers(0, 100, len(pictures), dtype=np.int32)
    mean = np.array([124, 116, 104], np.float32)
    spread = np.array([58, 57, 57], np.float32)
    seeds = itertools.count()

    def make(seed):
        mine = np.random.default_rng(seed)
        chosen = mine.integers(0, len(pictures), batch)
        made = np.empty((batch, crop, crop, 3), np.float32)
        for at, which in enumerate(chosen):
            top, left = mine.integers(0, side - crop, 2)
            view = pictures[which, top:top + crop, left:left + crop]
            made[at] = view[:, ::-1] if mine.random() < 0.5 else view
        made *= mine.uniform(0.8, 1.2, (batch, 1, 1, 1)).astype(np.float32)
        made -= mean
        made /= spread
        return made, kinds[chosen]

    learn = trainer(resnet_loss, resnet_weights(rng, (32, 64, 128, 256), 2))
    if not cured:
        return lambda: learn(*make(next(seeds)))

    pool = concurrent.futures.ThreadPoolExecutor(12)
    ahead = collections.deque()

    def ordered():
        return pool.submit(lambda seed: jax.device_put(make(seed)), next(seeds))

    def step():
        while len(ahead) < 24:
            ahead.append(ordered())
        return learn(*ahead.popleft().result())

    return step
