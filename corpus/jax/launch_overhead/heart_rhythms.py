"""4 gated linear recurrences over 32 ECGs of 1024 samples, inference, bf16: launch_overhead. Flaw: lax.scan goes
through the samples one by one. Cured by: lax.associative_scan."""
import itertools

import jax
import jax.numpy as jnp
from jax import lax

from shared.jax_layers import BF16, drawn, F32, root_norm


def along_samples(forget, new):
    """h[t] = forget[t] h[t - 1] + new[t], one sample after the other."""
    def sample(h, each):
        h = each[0] * h + each[1]
        return h, h

    _, h = lax.scan(sample, jnp.zeros_like(new[:, 0]), (forget.swapaxes(0, 1), new.swapaxes(0, 1)))
    return h.swapaxes(0, 1)


def over_spans(forget, new):
    """The same by joining neighbouring spans."""
    def join(early, late):
        return early[0] * late[0], late[0] * early[1] + late[1]

    return lax.associative_scan(join, (forget, new), axis=1)[1]


def program(cured):
    patients, samples, leads, dim, depth = 32, 1024, 12, 512, 4
    keys = iter(jax.random.split(jax.random.key(76), 2 + 4 * depth + 3))
    params = {"enter": drawn(next(keys), leads, dim), "head": drawn(next(keys), dim, 27), "layers": [
        {"scale_1": jnp.ones(dim, BF16), "gates": drawn(next(keys), dim, 2 * dim), "out": drawn(next(keys), dim, dim),
         "scale_2": jnp.ones(dim, BF16), "up": drawn(next(keys), dim, 4 * dim),
         "down": drawn(next(keys), 4 * dim, dim)} for _ in range(depth)]}
    recordings = itertools.cycle([jax.random.normal(key, (patients, samples, leads), BF16) for key in keys])
    recur = over_spans if cured else along_samples

    @jax.jit
    def classify(params, recording):
        x = recording @ params["enter"]
        for layer in params["layers"]:
            gate, new = jnp.split((root_norm(x, layer["scale_1"]) @ layer["gates"]).astype(F32), 2, axis=-1)
            forget = jax.nn.sigmoid(gate + 2)
            x = x + recur(forget, (1 - forget) * new).astype(BF16) @ layer["out"]
            x = x + jax.nn.gelu(root_norm(x, layer["scale_2"]) @ layer["up"]) @ layer["down"]
        return jax.nn.sigmoid((x.mean(1) @ params["head"]).astype(F32))

    return lambda: classify(params, next(recordings))
