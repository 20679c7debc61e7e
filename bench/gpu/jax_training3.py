"""The programs of jax_cases3.py that train networks: a function for each case makes its data and returns the step, a
loop body as its user would write it; with it, where the mended batch is larger, how many times larger. What a step
returns is ready when its work on the GPU is done. jax_cases3.py imports this file after it has set JAX's
environment."""
import itertools
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

BF16 = jnp.bfloat16
F32 = jnp.float32


def trainer(loss_of, params, optimizer=None):
    """learn(batch...) -> loss: gradients and optimizer are one compiled function whose state is donated."""
    optimizer = optimizer or optax.adamw(1e-4)

    def update(state, *batch):
        params, memory = state
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        changes, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, changes), memory), loss

    update, state = jax.jit(update, donate_argnums=0), (params, optimizer.init(params))

    def learn(*batch):
        nonlocal state
        state, loss = update(state, *batch)
        return loss

    return learn


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(F32), labels).mean()


def dense_layers(x, width, hidden):
    """The feed-forward half of a transformer's layer; for use inside a compact module."""
    y = nn.gelu(nn.Dense(hidden, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x)))
    return x + nn.Dense(width, dtype=BF16)(y)


# --- molecule_energies ------------------------------------------------------------------------------------------------

ATOMS, ORDERS = 32, 4


class MoleculeNetwork(nn.Module):
    """elements is (molecules, atoms), 0 where there is none; bonds is (molecules, orders, atoms, atoms)."""
    width: int = 256
    depth: int = 6

    @nn.compact
    def __call__(self, elements, bonds):
        x, bonds = nn.Embed(64, self.width, dtype=BF16)(elements), bonds.astype(BF16)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=BF16)(x)
            near = jnp.einsum("moij,mjd->miod", bonds, y).reshape(*x.shape[:2], ORDERS * self.width)
            y = nn.silu(nn.Dense(self.width, dtype=BF16)(y) + nn.Dense(self.width, dtype=BF16)(near))
            x = x + nn.Dense(self.width, dtype=BF16)(y)
        x = nn.silu(nn.Dense(self.width, dtype=BF16)(x))
        energies = nn.Dense(1, dtype=BF16)(x).astype(F32)[..., 0]
        return jnp.where(elements > 0, energies, 0.0).sum(1)


def molecule(rng):
    """Elements, bonds as pairs of atoms with their orders, energy: a tree of atoms and a few rings."""
    atoms = int(rng.integers(12, ATOMS))
    tree = np.stack([np.arange(1, atoms), (rng.random(atoms - 1) * np.arange(1, atoms)).astype(np.int64)], axis=1)
    pairs = np.concatenate([tree, rng.integers(0, atoms, (3, 2))])
    return rng.integers(1, 10, atoms), pairs, rng.integers(0, ORDERS, len(pairs)), rng.standard_normal()


def molecule_energies(fixed):
    rng, batch = np.random.default_rng(61), 1024
    molecules = [molecule(rng) for _ in range(8 * batch)]

    def collate(chosen):
        elements = np.zeros((len(chosen), ATOMS), np.int32)
        bonds = np.zeros((len(chosen), ORDERS, ATOMS, ATOMS), np.uint8)
        energies = np.zeros(len(chosen), np.float32)
        for at, which in enumerate(chosen):
            kinds, pairs, orders, energy = molecules[which]
            elements[at, :len(kinds)] = kinds
            bonds[at, orders, pairs[:, 0], pairs[:, 1]] = 1
            bonds[at, orders, pairs[:, 1], pairs[:, 0]] = 1
            energies[at] = energy
        return elements, bonds, energies

    network = MoleculeNetwork()
    params = jax.jit(network.init)(jax.random.key(62), *collate([0])[:2])

    def loss_of(params, elements, bonds, energies):
        return ((network.apply(params, elements, bonds) - energies) ** 2).mean()

    def loss_of_chosen(params, chosen, *everything):
        return loss_of(params, *(each[chosen] for each in everything))

    if not fixed:
        learn = trainer(loss_of, params)
        return lambda: learn(*collate(rng.integers(0, len(molecules), batch)))

    learn, everything = trainer(loss_of_chosen, params), jax.device_put(collate(range(len(molecules))))
    return lambda: learn(rng.integers(0, len(molecules), batch, dtype=np.int32), *everything)


# --- radiance_field ---------------------------------------------------------------------------------------------------

def waves(x, octaves):
    scaled = (x[..., None, :] * 2.0 ** jnp.arange(octaves, dtype=F32)[:, None]).reshape(*x.shape[:-1], -1)
    return jnp.concatenate([x, jnp.sin(scaled), jnp.cos(scaled)], axis=-1)


class RadianceField(nn.Module):
    precision: Any
    width: int = 256

    @nn.compact
    def __call__(self, points, views):
        def dense(width):
            return nn.Dense(width, precision=self.precision)

        where = waves(points, 10)
        x = where
        for layer in range(8):
            if layer == 5:
                x = jnp.concatenate([x, where], axis=-1)
            x = nn.relu(dense(self.width)(x))
        density = nn.softplus(dense(1)(x)[..., 0])
        seen = waves(views, 4)
        seen = jnp.broadcast_to(seen[:, None, :], (*points.shape[:2], seen.shape[-1]))
        x = jnp.concatenate([dense(self.width)(x), seen], axis=-1)
        return density, nn.sigmoid(dense(3)(nn.relu(dense(self.width // 2)(x))))


def radiance_field(fixed):
    network = RadianceField(None if fixed else lax.Precision.HIGHEST)
    rays, samples, near, far = 4096, 48, 2.0, 6.0
    keys = jax.random.split(jax.random.key(63), 13)
    batches = []
    for at in range(4):
        origins, views = (jax.random.normal(key, (rays, 3)) for key in keys[3 * at:3 * at + 2])
        views = views / jnp.linalg.norm(views, axis=-1, keepdims=True)
        batches.append((origins, views, jax.random.uniform(keys[3 * at + 2], (rays, 3))))
    params = jax.jit(network.init)(keys[12], jnp.zeros((1, samples, 3)), jnp.zeros((1, 3)))

    def loss_of(params, origins, views, colours):
        depths = jnp.linspace(near, far, samples, dtype=F32)
        density, shades = network.apply(params, origins[:, None] + depths[:, None] * views[:, None], views)
        thickness = density * ((far - near) / samples)
        reached = jnp.exp(thickness - jnp.cumsum(thickness, axis=-1))
        share = reached * (1 - jnp.exp(-thickness))
        return (((share[..., None] * shades).sum(1) - colours) ** 2).mean()

    learn, order = trainer(loss_of, params, optax.adam(1e-4)), itertools.cycle(batches)
    return lambda: learn(*next(order))


# --- weather_fields ---------------------------------------------------------------------------------------------------

def drawn(key, *shape):
    return jax.random.normal(key, shape, F32) / math.sqrt(shape[0])


def layer_norm(x, scale):
    y = x.astype(F32)
    y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * scale


def table_of_places(patches, dim):
    angle = np.arange(patches)[:, None] * 10000.0 ** (-np.arange(dim // 2) / (dim // 2))
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1).astype(np.float32)


def weather_fields(fixed):
    states, patches, numbers, dim, heads, depth = 32, 256, 512, 1024, 16, 8
    keys = iter(jax.random.split(jax.random.key(64), 2 + 4 * depth + 5))
    params = {"enter": drawn(next(keys), numbers, dim), "leave": drawn(next(keys), dim, numbers), "layers": []}
    for _ in range(depth):
        params["layers"].append({
            "scale_1": jnp.ones(dim), "qkv": drawn(next(keys), dim, 3 * dim), "out": drawn(next(keys), dim, dim),
            "scale_2": jnp.ones(dim), "up": drawn(next(keys), dim, 4 * dim),
            "down": drawn(next(keys), 4 * dim, dim)})
    place = jnp.asarray(table_of_places(patches, dim))
    if fixed:
        place = place.astype(BF16)
    days = [jax.random.normal(key, (states, patches, numbers)) for key in keys]
    # Rows of patches nearer to a pole stand for a smaller area.
    area = jnp.cos(jnp.linspace(-1.5, 1.5, patches))[:, None]

    def loss_of(params, place, now, later):
        p = jax.tree.map(lambda leaf: leaf.astype(BF16), params)
        x = now.astype(BF16) @ p["enter"] + place
        for layer in p["layers"]:
            y = layer_norm(x, layer["scale_1"]) @ layer["qkv"]
            q, k, v = (part.reshape(states, patches, heads, -1) for part in jnp.split(y, 3, axis=-1))
            x = x + jax.nn.dot_product_attention(q, k, v).reshape(x.shape) @ layer["out"]
            x = x + jax.nn.gelu(layer_norm(x, layer["scale_2"]) @ layer["up"]) @ layer["down"]
        return (area * ((x @ p["leave"]).astype(F32) + now - later) ** 2).mean()

    learn, order = trainer(loss_of, params), itertools.cycle(list(zip(days, days[1:])))
    return lambda: learn(place, *next(order))


# --- tissue_slides ----------------------------------------------------------------------------------------------------

class SlideNetwork(nn.Module):
    """Attention between all patches of a slide, then a weighted mean of them."""
    implementation: Any
    dim: int = 768
    heads: int = 12
    depth: int = 4

    @nn.compact
    def __call__(self, patches):
        x = nn.Dense(self.dim, dtype=BF16)(patches)
        for _ in range(self.depth):
            y = nn.Dense(3 * self.dim, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x))
            q, k, v = (part.reshape(*x.shape[:2], self.heads, -1) for part in jnp.split(y, 3, axis=-1))
            y = jax.nn.dot_product_attention(q, k, v, implementation=self.implementation)
            x = x + nn.Dense(self.dim, dtype=BF16)(y.reshape(x.shape))
            x = dense_layers(x, self.dim, 4 * self.dim)
        x = nn.LayerNorm(dtype=BF16)(x)
        gate = nn.Dense(1, dtype=BF16)(nn.tanh(nn.Dense(128, dtype=BF16)(x))).astype(F32)
        return nn.Dense(5)((jax.nn.softmax(gate, axis=1) * x.astype(F32)).sum(1))


def tissue_slides(fixed):
    network, patches = SlideNetwork("cudnn" if fixed else None), 6144
    keys = jax.random.split(jax.random.key(65), 5)
    slides = [(jax.random.normal(key, (1, patches, 1024), BF16), jnp.full(1, at, jnp.int32))
              for at, key in enumerate(keys[:4])]
    # Nothing in the network depends on the number of patches, so its weights can be made with a few of them.
    params = jax.jit(SlideNetwork(None).init)(keys[4], slides[0][0][:, :64])

    def loss_of(params, slide, grade):
        return cross_entropy(network.apply(params, slide), grade)

    learn, order = trainer(loss_of, params), itertools.cycle(slides)
    return lambda: learn(*next(order))


# --- fraud_transactions -----------------------------------------------------------------------------------------------

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


def fraud_transactions(fixed):
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

    if fixed:
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


# --- signs_recognized -------------------------------------------------------------------------------------------------

class SignNetwork(nn.Module):
    dim: int = 384
    heads: int = 6
    depth: int = 8

    @nn.compact
    def __call__(self, landmarks):
        x = nn.Dense(self.dim, dtype=BF16)(landmarks)
        x = x + self.param("place", nn.initializers.normal(0.02), x.shape[1:]).astype(BF16)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=BF16)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=BF16, deterministic=True)(y, y)
            x = dense_layers(x, self.dim, 4 * self.dim)
        return nn.Dense(250, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x).mean(1))


def signs_recognized(fixed):
    network, small = SignNetwork(), 16
    batch = 8 * small if fixed else small
    rng, keys = np.random.default_rng(67), jax.random.split(jax.random.key(67), 5)
    batches = [(jax.random.normal(key, (batch, 64, 224)), jnp.asarray(rng.integers(0, 250, batch, dtype=np.int32)))
               for key in keys[:4]]
    params = jax.jit(network.init)(keys[4], batches[0][0][:1])

    def loss_of(params, landmarks, signs):
        return cross_entropy(network.apply(params, landmarks), signs)

    learn, order = trainer(loss_of, params), itertools.cycle(batches)
    return lambda: learn(*next(order)), batch // small


# --- micrographs_denoised ---------------------------------------------------------------------------------------------

class BurstDenoiser(nn.Module):
    width: int = 128
    depth: int = 12

    @nn.compact
    def __call__(self, noisy):
        x = noisy.astype(BF16)
        for _ in range(self.depth - 1):
            x = nn.relu(nn.Conv(self.width, (3, 3), dtype=BF16)(x))
        return noisy - nn.Conv(noisy.shape[-1], (3, 3), dtype=BF16)(x).astype(F32)


def micrographs_denoised(_):
    network, shape = BurstDenoiser(), (32, 128, 128, 8)
    keys = jax.random.split(jax.random.key(68), 9)
    batches = []
    for at in range(4):
        clean = jax.random.uniform(keys[at], shape)
        batches.append((clean + 0.1 * jax.random.normal(keys[at + 4], shape), clean))
    params = jax.jit(network.init)(keys[8], jnp.zeros((1, 16, 16, 8)))

    def loss_of(params, noisy, clean):
        return ((network.apply(params, noisy) - clean) ** 2).mean()

    learn, order = trainer(loss_of, params), itertools.cycle(batches)
    return lambda: learn(*next(order))
