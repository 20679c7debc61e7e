"""Hybrid Monte Carlo of a phi^4 field on 96^3 sites, 64 trajectories a step: cpu_gpu_sync. Flaw: whether a
trajectory is accepted is decided in Python, its observable is a float at once. Cured by: jnp.where decides on
the GPU, observables are fetched once a step."""
import collections

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def program(cured):
    side, leaps, trajectories, stride, hop, coupling = 96, 10, 64, 0.02, 0.18, 1.0

    def cost(field):
        """The action, site by site."""
        ahead = sum(jnp.roll(field, 1, axis) for axis in range(3))
        squares = field * field
        return squares - 2 * hop * field * ahead + coupling * (squares - 1) ** 2

    def force(field):
        near = sum(jnp.roll(field, by, axis) for axis in range(3) for by in (1, -1))
        return 2 * hop * near - 2 * field - 4 * coupling * field * (field * field - 1)

    def trajectory(field, key):
        key, for_speed, for_toss = jax.random.split(key, 3)
        begin = jax.random.normal(for_speed, field.shape)

        def leap(_, state):
            place, speed = state
            place = place + stride * speed
            return place, speed + stride * force(place)

        place, speed = lax.fori_loop(0, leaps, leap, (field, begin + 0.5 * stride * force(field)))
        speed = speed - 0.5 * stride * force(place)
        change = (cost(place) - cost(field) + 0.5 * (speed * speed - begin * begin)).sum()
        return key, place, change, jnp.log(jax.random.uniform(for_toss))

    @jax.jit
    def advance(field, key):
        key, place, change, toss = trajectory(field, key)
        field = jnp.where(toss < -change, place, field)
        return key, field, field.mean()

    propose, magnetization = jax.jit(trajectory), jax.jit(jnp.mean)
    field, key = jax.random.normal(jax.random.key(72), (side, side, side)), jax.random.key(73)
    means = collections.deque(maxlen=1000)

    def step():
        nonlocal field, key
        history = []
        for _ in range(trajectories):
            if cured:
                key, field, mean = advance(field, key)
                history.append(mean)
            else:
                key, place, change, toss = propose(field, key)
                if float(toss) < -float(change):
                    field = place
                history.append(float(magnetization(field)))
        if cured:
            history = jax.device_get(history)
        means.append(np.mean(history))
        return field

    return step
