"""Rotating shallow water on 4096x4096, 10 time steps a step: memory_bandwidth. Flaw: every operator of the
equations is compiled by itself: its result goes through memory. Cured by: jax.jit of the whole time step."""
import jax
import jax.numpy as jnp


def slope(field, axis):
    return 0.5 * (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis))


def smoothing(field):
    return sum(jnp.roll(field, by, axis) for axis in (0, 1) for by in (1, -1)) - 4 * field


def program(cured):
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
    if not cured:
        operators = {name: jax.jit(operator) for name, operator in operators.items()}

    def advance(h, u, v):
        op = operators
        away = op["sum"](op["slope_x"](op["flux"](h, u)), op["slope_y"](op["flux"](h, v)))
        h = op["level"](h, away)
        away_u = op["sum"](op["carried_x"](u, u), op["carried_y"](v, u))
        away_v = op["sum"](op["carried_x"](u, v), op["carried_y"](v, v))
        push_u, push_v = op["push"](op["slope_x"](h), v, away_u), op["push"](op["slope_y"](h), -u, away_v)
        return h, op["current"](u, push_u, op["smoothing"](u)), op["current"](v, push_v, op["smoothing"](v))

    if cured:
        advance = jax.jit(advance)

    def step():
        nonlocal state
        for _ in range(ticks):
            state = advance(*state)
        return state

    return step
