"""12-layer transformer training, 16 texts of 256 tokens, bf16: optimizer. Flaw: Adam runs outside the compiled
function, for one parameter after the other. Cured by: Adam of all parameters inside the compiled train step."""
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import adam, adam_rate, next_token_loss, trainer, transformer_weights


def program(cured):
    rng = np.random.default_rng(11)
    texts = [jnp.asarray(rng.integers(0, 8192, (16, 257), dtype=np.int32)) for _ in range(4)]
    order = itertools.cycle(texts)
    params = transformer_weights(rng, 512, 12, 8192)
    loss_of = functools.partial(next_token_loss, heads=8)
    if cured:
        learn = trainer(loss_of, params)
        return lambda: learn(next(order))

    leaves, tree = jax.tree.flatten(jax.device_put(params))
    first, second = ([jnp.zeros_like(p) for p in leaves] for _ in range(2))
    gradients, rate_of = jax.jit(jax.value_and_grad(loss_of)), jax.jit(adam_rate)
    count = 0

    def step():
        nonlocal count
        count += 1
        loss, grads = gradients(jax.tree.unflatten(tree, leaves), next(order))
        rate = rate_of(float(count))
        for at, grad in enumerate(jax.tree.leaves(grads)):
            leaves[at], first[at], second[at] = adam(leaves[at], grad, first[at], second[at], rate)
        return loss, leaves[-1]

    return step
