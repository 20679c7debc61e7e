"""Ensemble of 7 small dynamics networks, 16 minibatches of 512 a step: launch_overhead. Flaw: a Python loop trains
one member after the other. Cured by: jax.vmap of the train step over the members."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from shared.flax_training import learning


class Dynamics(nn.Module):
    """The change of the state and its spread, from a state and an action."""
    states: int = 24

    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.silu(nn.Dense(256)(x))
        mean, spread = jnp.split(nn.Dense(2 * self.states)(x), 2, axis=-1)
        return mean, jnp.clip(spread, -5, 2)


def program(cured):
    network, members, parts, batch, inputs = Dynamics(), 7, 16, 512, 32
    optimizer = optax.adam(1e-4)
    keys = jax.random.split(jax.random.key(31), members + 2)
    seen = jax.random.normal(keys[-1], (parts, members, batch, inputs))
    change = jax.random.normal(keys[-2], (parts, members, batch, network.states))

    def loss_of(params, seen, change):
        mean, spread = network.apply(params, seen)
        return (((change - mean) * jnp.exp(-spread)) ** 2 + 2 * spread).mean()

    def start(key):
        params = network.init(key, jnp.zeros((1, inputs)))
        return params, optimizer.init(params)

    update, begin = learning(loss_of, optimizer), jax.jit(start)
    if cured:
        train = jax.jit(jax.vmap(update), donate_argnums=0)
        state, batches = jax.jit(jax.vmap(start))(keys[:members]), list(zip(seen, change))

        def step():
            nonlocal state
            for batch in batches:
                state, loss = train(state, *batch)
            return loss

        return step

    train_one = jax.jit(update, donate_argnums=0)
    states = [begin(key) for key in keys[:members]]
    batches = [list(zip(a, b)) for a, b in zip(seen, change)]

    def step_each():
        for batch in batches:
            losses = []
            for member in range(members):
                states[member], loss = train_one(states[member], *batch[member])
                losses.append(loss)
        return losses

    return step_each
