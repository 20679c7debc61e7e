"""Two-layer ConvLSTM over 24 radar frames of 8 regions of 128x128, inference, bf16: host_transfer. Flaw: the
recurrent state is fetched with jax.device_get after every call and goes back with the next. Cured by: the
recurrent state stays on the GPU."""
import itertools

import jax
import jax.numpy as jnp
from jax import lax

from shared.jax_layers import BF16, drawn


def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def cloud_cell(w, state, x):
    """A convolutional LSTM's step; state is what it keeps and what it shows."""
    kept, shown = state
    gates = conv(jnp.concatenate([x, shown], axis=-1), w)
    enter, forget, out, new = jnp.split(gates, 4, axis=-1)
    kept = jax.nn.sigmoid(forget) * kept + jax.nn.sigmoid(enter) * jnp.tanh(new)
    return kept, jax.nn.sigmoid(out) * jnp.tanh(kept)


def program(cured):
    regions, side, frames, products, width = 8, 128, 24, 8, 64
    keys = jax.random.split(jax.random.key(71), 6)
    weights = {"low": drawn(keys[0], 3, 3, products + width, 4 * width),
               "high": drawn(keys[1], 3, 3, 2 * width, 4 * width), "head": drawn(keys[2], width, products)}
    hours = itertools.cycle([jax.random.uniform(key, (frames, regions, side, side, products), BF16)
                             for key in keys[3:]])

    @jax.jit
    def nowcast(weights, state, seen):
        def frame(state, x):
            low = cloud_cell(weights["low"], state[0], x)
            high = cloud_cell(weights["high"], state[1], low[1])
            return (low, high), None
        state, _ = lax.scan(frame, state, seen)
        return state, state[1][1] @ weights["head"]

    empty = jnp.zeros((regions, side, side, width), BF16)
    state = (empty, empty), (empty, empty)

    def step():
        nonlocal state
        state, expected = nowcast(weights, state, next(hours))
        if not cured:
            state = jax.device_get(state)
        return expected

    return step
