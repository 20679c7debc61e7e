"""Visibilities of 2048 sources at 32768 baselines and 16 channels: precision. Flaw: jax_enable_x64 for time
stamps; frequencies from np.linspace make everything else FP64 too. Cured by: the frequencies are float32."""
import math

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import F32


def program(cured):
    # In both variants: microseconds since 1970 do not fit in 32 bits.
    jax.config.update("jax_enable_x64", True)
    baselines, sources, channels = 32768, 2048, 16
    rng = np.random.default_rng(49)
    metres = jnp.asarray(200 * rng.standard_normal((baselines, 2), dtype=np.float32))
    places = jnp.asarray(0.02 * (rng.random((sources, 2), dtype=np.float32) - 0.5))
    fluxes = jnp.asarray(rng.random(sources, dtype=np.float32))
    stamps = jnp.asarray(1_790_000_000_000_000 + np.sort(rng.integers(0, 600_000_000, baselines)))
    frequencies = np.linspace(1.0e9, 1.4e9, channels)
    if cured:
        frequencies = frequencies.astype(np.float32)
    frequencies = jnp.asarray(frequencies)

    @jax.jit
    def predict(stamps, metres, places, fluxes, frequencies):
        turned = (stamps - stamps[0]).astype(F32) * 7.292e-11
        u = metres[:, 0] * jnp.cos(turned) - metres[:, 1] * jnp.sin(turned)
        v = metres[:, 0] * jnp.sin(turned) + metres[:, 1] * jnp.cos(turned)
        path = u[:, None] * places[:, 0] + v[:, None] * places[:, 1]
        waves = frequencies * (2 * math.pi / 299792458.0)
        phase = path[:, None, :] * waves[:, None]
        return (fluxes * jnp.cos(phase)).sum(-1), (fluxes * jnp.sin(phase)).sum(-1)

    return lambda: predict(stamps, metres, places, fluxes, frequencies)
