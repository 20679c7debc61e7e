"""The programs of jax_cases3.py that run networks, simulate or reconstruct: a function for each case makes its data and
returns the step, a loop body as its user would write it. What a step returns is ready when its work on the GPU is
done. jax_cases3.py imports this file after it has set JAX's environment."""
import collections
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BF16 = jnp.bfloat16
F32 = jnp.float32


def drawn(key, *shape):
    """Weights in bf16 whose outputs have the spread of their inputs."""
    return (jax.random.normal(key, shape, F32) / math.sqrt(math.prod(shape[:-1]))).astype(BF16)


def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def root_norm(x, scale):
    y = x.astype(F32)
    return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


# --- radar_nowcast ----------------------------------------------------------------------------------------------------

def cloud_cell(w, state, x):
    """A convolutional LSTM's step; state is what it keeps and what it shows."""
    kept, shown = state
    gates = conv(jnp.concatenate([x, shown], axis=-1), w)
    enter, forget, out, new = jnp.split(gates, 4, axis=-1)
    kept = jax.nn.sigmoid(forget) * kept + jax.nn.sigmoid(enter) * jnp.tanh(new)
    return kept, jax.nn.sigmoid(out) * jnp.tanh(kept)


def radar_nowcast(fixed):
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
        if not fixed:
            state = jax.device_get(state)
        return expected

    return step


# --- lattice_field ----------------------------------------------------------------------------------------------------

def lattice_field(fixed):
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
            if fixed:
                key, field, mean = advance(field, key)
                history.append(mean)
            else:
                key, place, change, toss = propose(field, key)
                if float(toss) < -float(change):
                    field = place
                history.append(float(magnetization(field)))
        if fixed:
            history = jax.device_get(history)
        means.append(np.mean(history))
        return field

    return step


# --- ships_detected ---------------------------------------------------------------------------------------------------

@jax.jit
def overlaps(boxes, box):
    """Intersection over union of boxes, given by two corners each, with one box."""
    low, high = jnp.maximum(boxes[..., :2], box[..., :2]), jnp.minimum(boxes[..., 2:], box[..., 2:])
    shared = jnp.maximum(high - low, 0.0).prod(-1)
    areas, area = ((corners[..., 2:] - corners[..., :2]).prod(-1) for corners in (boxes, box))
    return shared / (areas + area - shared)


def next_box(boxes, scores):
    """The best box of each picture, and the scores without those that overlap it."""
    best = jnp.argmax(scores, axis=1, keepdims=True)
    box = jnp.take_along_axis(boxes, best[..., None], axis=1)
    return best, jnp.where(overlaps(boxes, box) > 0.5, -1.0, scores)


def candidates(weights, pictures, most=2048):
    """The boxes with the highest scores, and these, for each picture."""
    x = pictures.astype(BF16) / 255
    for w in weights["stem"]:
        x = jax.nn.relu(conv(x, w, 2))
    for first, second in weights["blocks"]:
        x = x + 0.3 * conv(jax.nn.relu(conv(x, first)), second)
    out = (x @ weights["head"]).astype(F32)
    cells = 8.0 * jnp.stack(jnp.meshgrid(jnp.arange(x.shape[2]), jnp.arange(x.shape[1])), axis=-1)
    middle, size = cells + 8 * jnp.tanh(out[..., :2]), 16 * jnp.exp(jnp.clip(out[..., 2:4], -1, 1))
    boxes = jnp.concatenate([middle - size, middle + size], axis=-1).reshape(len(pictures), -1, 4)
    scores, chosen = lax.top_k(jax.nn.sigmoid(out[..., 4]).reshape(len(pictures), -1), most)
    return jnp.take_along_axis(boxes, chosen[..., None], axis=1), scores


def ships_detected(fixed):
    batch, ships = 4, 100
    keys = iter(jax.random.split(jax.random.key(74), 16))
    widths = (3, 64, 128, 256)
    weights = {"stem": [drawn(next(keys), 5, 5, a, b) for a, b in zip(widths, widths[1:])],
               "blocks": [[drawn(next(keys), 3, 3, 256, 256) for _ in range(2)] for _ in range(6)],
               "head": drawn(next(keys), 256, 5)}
    rng = np.random.default_rng(75)
    scenes = itertools.cycle([jnp.asarray(rng.integers(0, 256, (batch, 1024, 1024, 3), dtype=np.uint8))
                              for _ in range(3)])

    @jax.jit
    def detect(weights, pictures):
        boxes, scores = candidates(weights, pictures)

        def pick(at, state):
            scores, kept = state
            best, scores = next_box(boxes, scores)
            return scores, lax.dynamic_update_slice_in_dim(kept, best, at, axis=1)

        kept = jnp.zeros((batch, ships), jnp.int32)
        _, kept = lax.fori_loop(0, ships, pick, (scores, kept))
        return jnp.take_along_axis(boxes, kept[..., None], axis=1)

    propose = jax.jit(candidates)

    def step():
        if fixed:
            return detect(weights, next(scenes))
        boxes, scores = propose(weights, next(scenes))
        kept = []
        for _ in range(ships):
            best, scores = next_box(boxes, scores)
            kept.append(best)
        return jnp.take_along_axis(boxes, jnp.concatenate(kept, axis=1)[..., None], axis=1)

    return step


# --- heart_rhythms ----------------------------------------------------------------------------------------------------

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


def heart_rhythms(fixed):
    patients, samples, leads, dim, depth = 32, 1024, 12, 512, 4
    keys = iter(jax.random.split(jax.random.key(76), 2 + 4 * depth + 3))
    params = {"enter": drawn(next(keys), leads, dim), "head": drawn(next(keys), dim, 27), "layers": [
        {"scale_1": jnp.ones(dim, BF16), "gates": drawn(next(keys), dim, 2 * dim), "out": drawn(next(keys), dim, dim),
         "scale_2": jnp.ones(dim, BF16), "up": drawn(next(keys), dim, 4 * dim),
         "down": drawn(next(keys), 4 * dim, dim)} for _ in range(depth)]}
    recordings = itertools.cycle([jax.random.normal(key, (patients, samples, leads), BF16) for key in keys])
    recur = over_spans if fixed else along_samples

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


# --- ocean_layer ------------------------------------------------------------------------------------------------------

def slope(field, axis):
    return 0.5 * (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis))


def smoothing(field):
    return sum(jnp.roll(field, by, axis) for axis in (0, 1) for by in (1, -1)) - 4 * field


def carried(u, v, field):
    """How fast the current moves a field away."""
    return u * slope(field, 1) + v * slope(field, 0)


def ocean_layer(fixed):
    side, ticks, tick, gravity, turning, friction = 4096, 10, 0.05, 1.0, 0.001, 0.05
    place = jnp.arange(side) - side // 2
    bump = jnp.exp(-(place[:, None] ** 2 + place ** 2) / 20000.0)
    state = 1 + 0.05 * bump, jnp.zeros((side, side)), jnp.zeros((side, side))
    operators = {
        "slope_x": lambda f: slope(f, 1), "slope_y": lambda f: slope(f, 0), "smoothing": smoothing,
        "carried_x": lambda u, f: u * slope(f, 1), "carried_y": lambda v, f: v * slope(f, 0),
        "flux": lambda h, u: h * u, "sum": lambda f, g: f + g, "level": lambda h, away: h - tick * away,
        "push": lambda rise, across, away: turning * across - gravity * rise - away,
        "current": lambda u, push, smooth: u + tick * (push + friction * smooth)}
    if not fixed:
        operators = {name: jax.jit(operator) for name, operator in operators.items()}

    def advance(h, u, v):
        op = operators
        away = op["sum"](op["slope_x"](op["flux"](h, u)), op["slope_y"](op["flux"](h, v)))
        h = op["level"](h, away)
        away_u = op["sum"](op["carried_x"](u, u), op["carried_y"](v, u))
        away_v = op["sum"](op["carried_x"](u, v), op["carried_y"](v, v))
        push_u, push_v = op["push"](op["slope_x"](h), v, away_u), op["push"](op["slope_y"](h), -u, away_v)
        return h, op["current"](u, push_u, op["smoothing"](u)), op["current"](v, push_v, op["smoothing"](v))

    if fixed:
        advance = jax.jit(advance)

    def step():
        nonlocal state
        for _ in range(ticks):
            state = advance(*state)
        return state

    return step


# --- cells_deconvolved ------------------------------------------------------------------------------------------------

def cells_deconvolved(fixed):
    """Both variants are the same here: they differ in the environment that jax_cases3.py sets."""
    del fixed
    shape, spread, iterations = (64, 512, 512), (3.0, 1.5, 1.5), 6
    waves = np.meshgrid(np.fft.fftfreq(shape[0]), np.fft.fftfreq(shape[1]), np.fft.rfftfreq(shape[2]), indexing="ij")
    passed = np.exp(-2 * sum((math.pi * width * wave) ** 2 for width, wave in zip(spread, waves)))
    passed = jnp.asarray(passed.astype(np.float32))
    stacks = itertools.cycle([100 * jax.random.uniform(jax.random.key(77 + at), shape) + 1 for at in range(3)])

    @jax.jit
    def blur(stack, passed):
        return jnp.fft.irfftn(jnp.fft.rfftn(stack) * passed, s=shape, axes=(0, 1, 2))

    ratio = jax.jit(lambda seen, blurred: seen / jnp.maximum(blurred, 1e-3))
    correct = jax.jit(lambda estimate, blurred: jnp.maximum(estimate * blurred, 1e-3))

    def step():
        seen = next(stacks)
        estimate = seen
        for _ in range(iterations):
            estimate = correct(estimate, blur(ratio(seen, blur(estimate, passed)), passed))
        return estimate

    return step


# --- code_prefill -----------------------------------------------------------------------------------------------------

def rotated(x):
    """Rotary positions; x is (prompts, tokens, heads, numbers)."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1], dtype=F32)[:, None, None] * 10000.0 ** (-jnp.arange(half, dtype=F32) / half)
    near, far = x[..., :half].astype(F32), x[..., half:].astype(F32)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return jnp.concatenate([near * cosine - far * sine, near * sine + far * cosine], axis=-1).astype(x.dtype)


def code_prefill(_):
    prompts, tokens, vocabulary, dim, hidden, depth, size = 8, 2048, 32000, 2048, 5632, 6, 128
    heads, shared = dim // size, 4
    keys = iter(jax.random.split(jax.random.key(80), 2 + 6 * depth))
    weights = {"table": drawn(next(keys), vocabulary, dim), "head": drawn(next(keys), dim, vocabulary),
               "scale": jnp.ones(dim, BF16), "layers": [
        {"scale_1": jnp.ones(dim, BF16), "q": drawn(next(keys), dim, dim),
         "kv": drawn(next(keys), dim, 2 * shared * size), "out": drawn(next(keys), dim, dim),
         "scale_2": jnp.ones(dim, BF16), "gate": drawn(next(keys), dim, hidden), "up": drawn(next(keys), dim, hidden),
         "down": drawn(next(keys), hidden, dim)} for _ in range(depth)]}
    rng = np.random.default_rng(81)
    texts = itertools.cycle([jnp.asarray(rng.integers(0, vocabulary, (prompts, tokens), dtype=np.int32))
                             for _ in range(4)])
    attend = functools.partial(jax.nn.dot_product_attention, is_causal=True, implementation="cudnn")

    @jax.jit
    def read(weights, text):
        x, cache = weights["table"][text], []
        for layer in weights["layers"]:
            y = root_norm(x, layer["scale_1"])
            q = rotated((y @ layer["q"]).reshape(prompts, tokens, heads, size))
            k, v = (part.reshape(prompts, tokens, shared, size) for part in jnp.split(y @ layer["kv"], 2, axis=-1))
            k = rotated(k)
            cache.append((k, v))
            x = x + attend(q, k, v).reshape(x.shape) @ layer["out"]
            y = root_norm(x, layer["scale_2"])
            x = x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
        last = root_norm(x[:, -1], weights["scale"]) @ weights["head"]
        return jnp.argmax(last.astype(F32), axis=-1), cache

    return lambda: read(weights, next(texts))
