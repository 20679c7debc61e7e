"""White balance, saturation, local contrast and tone curve of 8 pictures of 6 megapixels: memory_bandwidth. Flaw:
one kernel an operation: the function is not compiled. Cured by: jax.jit of the function: fused."""
import jax
import jax.numpy as jnp
from jax import lax


def program(cured):
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

    if cured:
        develop = jax.jit(develop)
    return lambda: develop(pictures, balance)
