"""Training steps of the JAX programs that use flax and optax."""
import flax.linen as nn
import jax
import optax

from shared.jax_layers import BF16, F32


def learning(loss_of, optimizer):
    """update(state, batch...) -> state, loss: gradients and optimizer in one function, not compiled yet."""
    def update(state, *batch):
        params, memory = state
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        changes, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, changes), memory), loss
    return update


def trainer(loss_of, params, optimizer=None):
    """learn(batch...) -> loss, one compiled function whose state is donated."""
    optimizer = optimizer or optax.adamw(1e-4)
    update = jax.jit(learning(loss_of, optimizer), donate_argnums=0)
    state = params, optimizer.init(params)

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
