"""16-layer transformer over 32 columns of 256 transactions, LAMB, bf16: optimizer. Flaw: LAMB's three compiled
parts are called for one parameter after the other. Cured by: LAMB of all parameters inside the compiled train
step."""
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp

from shared.flax_training import cross_entropy, dense_layers
from shared.jax_layers import BF16


class TransactionNetwork(nn.Module):
    dim: int = 256
    heads: int = 8
    depth: int = 16

    @nn.compact
    def __call__(self, columns):
        shape = (columns.shape[-1], self.dim)
        slope, offset = (self.param(name, nn.initializers.normal(0.5), shape) for name in ("slope", "offset"))
        x = (columns[..., None] * slope + offset).astype(BF16)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=BF16)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=BF16, deterministic=True)(y, y)
            x = dense_layers(x, self.dim, 4 * self.dim)
        return nn.Dense(2, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x).mean(1))


def moments(grad, first, second):
    return 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad * grad


def direction(param, first, second):
    return first / (jnp.sqrt(second) + 1e-6) + 0.01 * param


def moved(param, change):
    size, length = jnp.sqrt((param * param).sum()), jnp.sqrt((change * change).sum())
    trust = jnp.where((size > 0) & (length > 0), size / jnp.maximum(length, 1e-12), 1.0)
    return param - 1e-4 * trust * change


def program(cured):
    network, batch = TransactionNetwork(), 256
    keys = jax.random.split(jax.random.key(66), 5)
    batches = [(jax.random.normal(key, (batch, 32)), (jax.random.uniform(key, (batch,)) < 0.1).astype(jnp.int32))
               for key in keys[:4]]
    leaves, tree = jax.tree.flatten(jax.jit(network.init)(keys[4], batches[0][0][:1]))
    first, second = ([jnp.zeros_like(leaf) for leaf in leaves] for _ in range(2))
    order = itertools.cycle(batches)

    def gradients(leaves, columns, labels):
        def loss_of(leaves):
            return cross_entropy(network.apply(jax.tree.unflatten(tree, leaves), columns), labels)
        return jax.value_and_grad(loss_of)(leaves)

    def train(leaves, first, second, *batch):
        loss, grads = gradients(leaves, *batch)
        first, second = map(list, zip(*map(moments, grads, first, second)))
        changes = map(direction, leaves, first, second)
        return loss, list(map(moved, leaves, changes)), first, second

    if cured:
        train = jax.jit(train, donate_argnums=(0, 1, 2))

        def step():
            nonlocal leaves, first, second
            loss, leaves, first, second = train(leaves, first, second, *next(order))
            return loss

        return step

    gradients_of, parts = jax.jit(gradients), [jax.jit(part) for part in (moments, direction, moved)]

    def step_each():
        loss, grads = gradients_of(leaves, *next(order))
        for at, grad in enumerate(grads):
            first[at], second[at] = parts[0](grad, first[at], second[at])
            leaves[at] = parts[2](leaves[at], parts[1](leaves[at], first[at], second[at]))
        return loss, leaves

    return step_each
