"""The programs of jax_cases.py that simulate, solve, price or filter: a function for each case makes its data and
returns the step, a loop body as its user would write it. What a step returns is ready when its work on the GPU is
done. jax_cases.py imports this file after it has set JAX's environment."""
import collections
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def padded_sum(x):
    """The sum of the four neighbours; outside there is nothing."""
    y = jnp.pad(x, 1)
    return y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:]


def seismic_receivers(fixed):
    side, receivers = 4096, 256
    rng = np.random.default_rng(2)
    rows, columns = rng.integers(0, side, (2, receivers))
    depth = jnp.linspace(0.1, 0.4, side)[:, None]
    place = jnp.arange(side) - side // 2
    wave = jnp.exp(-(place[:, None] ** 2 + place ** 2) / 200.0)
    traces = collections.deque(maxlen=1000)

    @jax.jit
    def propagate(now, before, depth):
        def tick(_, fields):
            now, before = fields
            return 2 * now - before + depth * (padded_sum(now) - 4 * now), now
        return lax.fori_loop(0, 32, tick, (now, before))

    @jax.jit
    def listen(field, rows, columns):
        return field[rows, columns]

    where = jnp.asarray(rows), jnp.asarray(columns)
    fields = wave, wave

    def step():
        nonlocal fields
        fields = propagate(*fields, depth)
        heard = np.asarray(listen(fields[0], *where)) if fixed else np.asarray(fields[0])[rows, columns]
        traces.append(heard)
        return fields[0]

    return step


def poisson_conjugate_gradients(fixed):
    side, iterations, every = 2048, 60, 20 if fixed else 1
    source = jnp.asarray(np.random.default_rng(4).standard_normal((side, side), dtype=np.float32))

    @jax.jit
    def start(source):
        return jnp.zeros_like(source), source, source, jnp.sum(source * source)

    @jax.jit
    def iterate(x, r, p, norm):
        image = 4 * p - padded_sum(p)
        alpha = norm / jnp.sum(p * image)
        x, r = x + alpha * p, r - alpha * image
        left = jnp.sum(r * r)
        return x, r, r + left / norm * p, left

    def step():
        state = start(source)
        for at in range(1, iterations + 1):
            state = iterate(*state)
            if at % every == 0 and float(state[3]) < 1e-6:
                break
        return state[0]

    return step


def gray_scott_dish(fixed):
    side, ticks = 512, 256
    rng = np.random.default_rng(5)
    dish = (jnp.ones((side, side)), jnp.asarray((rng.random((side, side)) < 0.05).astype(np.float32)))

    @jax.jit
    def react(u, v):
        both = u * v * v
        return (u + 0.16 * (padded_sum(u) - 4 * u) - both + 0.035 * (1 - u),
                v + 0.08 * (padded_sum(v) - 4 * v) + both - 0.1 * v)

    @jax.jit
    def develop(u, v):
        return lax.fori_loop(0, ticks, lambda _, dish: react(*dish), (u, v), unroll=4)

    def step():
        nonlocal dish
        if fixed:
            dish = develop(*dish)
        else:
            for _ in range(ticks):
                dish = react(*dish)
        return dish

    return step


def gaussian_mixture(fixed):
    if not fixed:
        jax.config.update("jax_enable_x64", True)
    points = np.random.default_rng(8).standard_normal((1 << 20, 32))
    means, points = jnp.asarray(points[:256]), jnp.asarray(points)

    @jax.jit
    def improve(points, means, width):
        distance = (points ** 2).sum(1)[:, None] - 2 * points @ means.T + (means ** 2).sum(1)
        share = jax.nn.softmax(-0.5 * distance / width, axis=1)
        weight_of = share.sum(0) + 1e-6
        return share.T @ points / weight_of[:, None], (share * distance).sum() / points.size

    mixture = means, jnp.asarray(4.0)

    def step():
        nonlocal mixture
        mixture = improve(points, mixture[0], jnp.maximum(mixture[1], 0.5))
        return mixture

    return step


def raw_pictures_developed(fixed):
    pictures = jax.random.uniform(jax.random.key(10), (8, 2000, 3000, 3))
    balance = jnp.asarray([1.9, 1.0, 1.5])

    def develop(pictures, balance):
        x = pictures * balance
        x = x * (0.18 / x.mean((1, 2, 3), keepdims=True))
        grey = x.mean(-1, keepdims=True)
        x = grey + 1.25 * (x - grey)
        around = lax.reduce_window(grey, 0.0, lax.add, (1, 9, 1, 1), (1, 1, 1, 1), "SAME")
        around = lax.reduce_window(around, 0.0, lax.add, (1, 1, 9, 1), (1, 1, 1, 1), "SAME")
        x = x + 0.3 * (grey - around / 81)
        x = jnp.maximum(x, 0.0)
        x = x * (1 + 0.1 * x) / (1 + x)
        x = jnp.minimum(x, 1.0)
        return (255 * jnp.sqrt(x) + 0.5).astype(jnp.uint8)

    if fixed:
        develop = jax.jit(develop)
    return lambda: develop(pictures, balance)


def exposures_blended(fixed):
    """Both variants are the same here: they differ in the environment that jax_cases.py sets."""
    del fixed
    shape = (16, 1024, 1024, 3)
    dark, bright = (jax.random.uniform(jax.random.key(seed), shape) for seed in (12, 13))

    @jax.jit
    def shrink(x):
        n, high, wide, colours = x.shape
        return x.reshape(n, high // 2, 2, wide // 2, 2, colours).mean((2, 4))

    @jax.jit
    def grow(x):
        return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)

    trust = jax.jit(lambda x: jnp.exp(-12.5 * (x.mean(-1, keepdims=True) - 0.5) ** 2))
    subtract = jax.jit(lambda x, y: x - y)
    blend = jax.jit(lambda x, y, p, q: (p * x + q * y) / (p + q + 1e-6))
    add = jax.jit(lambda x, y: x + y)

    def step():
        x, y, levels = dark, bright, []
        p, q = trust(x), trust(y)
        for _ in range(4):
            low_x, low_y = shrink(x), shrink(y)
            levels.append(blend(subtract(x, grow(low_x)), subtract(y, grow(low_y)), p, q))
            x, y, p, q = low_x, low_y, shrink(p), shrink(q)
        result = blend(x, y, p, q)
        for level in reversed(levels):
            result = add(grow(result), level)
        return result

    return step


def options_by_monte_carlo(_):
    paths, days = 1 << 22, 64
    keys = itertools.count()

    @jax.jit
    def price(seed, strikes):
        key = jax.random.key(seed)

        def day(at, path):
            logarithm, total = path
            drawn = jax.random.normal(jax.random.fold_in(key, at), (paths,))
            logarithm = logarithm + 0.0126 * drawn - 0.0000794
            return logarithm, total + jnp.exp(logarithm)

        _, total = lax.fori_loop(0, days, day, (jnp.zeros(paths), jnp.zeros(paths)))
        mean = 100 * total / days
        return jnp.stack([jnp.maximum(mean - strikes[at], 0).mean() for at in range(4)])

    strikes = jnp.asarray([90.0, 100.0, 110.0, 120.0])
    return lambda: price(next(keys), strikes)
