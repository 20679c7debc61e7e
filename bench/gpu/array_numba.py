"""The programs of array_cases.py that are written with numba's CUDA target. Each function makes a program's data and
gives its step, as (step, how many times the work of the broken variant's step it does)."""
import math

import numba
import numpy as np
from numba import cuda


def has_gpu():
    return cuda.is_available()


def synchronize():
    cuda.synchronize()


def is_finite(array):
    return bool(np.isfinite(array if isinstance(array, np.ndarray) else array.copy_to_host()).all())


# --- radiotherapy ----------------------------------------------------------------------------------------------------

SPACING = np.float32(2.0)  # mm
HALF = np.float32(0.5)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)
PEAK_WIDTH = np.float32(0.04)
WIDENING = np.float32(0.015)
PLATEAU = np.float32(0.3)


@cuda.jit(fastmath=True)
def water_depth(density, depth):
    column, row = cuda.grid(2)
    if row < density.shape[1] and column < density.shape[2]:
        passed = ZERO
        for layer in range(density.shape[0]):
            passed += density[layer, row, column] * SPACING
            depth[layer, row, column] = passed


@cuda.jit(fastmath=True)
def spots_dose(depth, spots, weights, dose):
    """A spot is its place across the beam, its range in water and its width where the beam enters."""
    column, row, layer = cuda.grid(3)
    if layer < depth.shape[0] and row < depth.shape[1] and column < depth.shape[2]:
        x = np.float32(column) * SPACING
        y = np.float32(row) * SPACING
        water = depth[layer, row, column]
        sum_of_spots = ZERO
        for spot in range(spots.shape[0]):
            across = x - spots[spot, 0]
            along = y - spots[spot, 1]
            left = water - spots[spot, 2]
            width = spots[spot, 3] + WIDENING * water
            lateral = math.exp(-HALF * (across * across + along * along) / (width * width)) / (width * width)
            peak = math.exp(-PEAK_WIDTH * left * left)
            before = PLATEAU if left < ZERO else ZERO
            sum_of_spots += weights[spot] * lateral * (before + peak)
        dose[layer, row, column] = sum_of_spots


@cuda.jit(fastmath=True)
def dose_penalty(dose, prescription, penalty):
    column, row, layer = cuda.grid(3)
    if layer < dose.shape[0] and row < dose.shape[1] and column < dose.shape[2]:
        over = dose[layer, row, column] - prescription[layer, row, column]
        penalty[layer, row, column] = over * over


def proton_plan_dose(fixed):
    layers, rows, columns, count = 96, 160, 160, 1500
    shape = (layers, rows, columns)
    random = np.random.default_rng(3)
    density = (0.8 + 0.4 * random.random(shape)).astype(np.float32)
    prescription = np.zeros(shape, np.float32)
    prescription[40:60, 60:100, 60:100] = 2
    spots = np.empty((count, 4), np.float32)
    spots[:, :2] = random.uniform(120, 200, (count, 2))
    spots[:, 2] = random.uniform(80, 120, count)
    spots[:, 3] = random.uniform(3, 5, count)
    weights = random.random(count).astype(np.float32)
    depth, dose, penalty = (np.zeros(shape, np.float32) for _ in range(3))
    if fixed:
        density, prescription, spots, depth, dose, penalty = (
            cuda.to_device(array) for array in (density, prescription, spots, depth, dose, penalty))
        weights_there = cuda.to_device(weights)
    flat, solid = (32, 4), (32, 4, 1)
    flat_blocks = (columns // 32, rows // 4)
    solid_blocks = (columns // 32, rows // 4, layers)

    def step():
        # The optimiser of the plan changes the weights from step to step.
        weights[:] = np.roll(weights, 1)
        if fixed:
            weights_there.copy_to_device(weights)
        water_depth[flat_blocks, flat](density, depth)
        spots_dose[solid_blocks, solid](depth, spots, weights_there if fixed else weights, dose)
        dose_penalty[solid_blocks, solid](dose, prescription, penalty)
        return penalty
    return step, 1


# --- bioinformatics --------------------------------------------------------------------------------------------------

LONGEST = 3072
DIAGONAL = LONGEST + 1
THREADS = 128


@cuda.jit
def align_pairs(reads, targets, match, mismatch, gap, scores):
    """Best local alignment of a read and its target, a block a pair, one diagonal of cells after the other."""
    before_last = cuda.shared.array(DIAGONAL, numba.int32)
    last = cuda.shared.array(DIAGONAL, numba.int32)
    here = cuda.shared.array(DIAGONAL, numba.int32)
    pair = cuda.blockIdx.x
    thread = cuda.threadIdx.x
    length = reads.shape[1]
    if thread == 0:
        scores[pair] = 0
    for cell in range(thread, length + 1, THREADS):
        before_last[cell] = 0
        last[cell] = 0
        here[cell] = 0
    cuda.syncthreads()
    best = 0
    for diagonal in range(2, 2 * length + 1):
        low = max(1, diagonal - length)
        high = min(length, diagonal - 1)
        for row in range(low + thread, high + 1, THREADS):
            same = match if reads[pair, row - 1] == targets[pair, diagonal - row - 1] else mismatch
            score = max(0, before_last[row - 1] + same)
            score = max(score, last[row - 1] - gap)
            score = max(score, last[row] - gap)
            here[row] = score
            best = max(best, score)
        cuda.syncthreads()
        # What was two diagonals back is written over next.
        for row in range(low - 1 + thread, high + 1, THREADS):
            before_last[row] = last[row]
            last[row] = here[row]
        cuda.syncthreads()
    cuda.atomic.max(scores, pair, np.int32(best))


def reads_aligned(fixed):
    batch = 384 if fixed else 64
    random = np.random.default_rng(4)
    bases = random.integers(0, 4, (batch, LONGEST), dtype=np.uint8)
    changed = random.random(bases.shape) < 0.1
    reads = cuda.to_device(bases)
    targets = cuda.to_device(np.where(changed, random.integers(0, 4, bases.shape, dtype=np.uint8), bases))
    scores = cuda.device_array(batch, np.int32)

    def step():
        align_pairs[batch, THREADS](reads, targets, 2, -3, 5, scores)
        return scores
    return step, batch / 64


# --- finance ---------------------------------------------------------------------------------------------------------

def option_kernels(real):
    """The kernels of the Black-Scholes model with their constants of the type real."""
    one, half, two = real(1), real(0.5), real(2)
    root_half, density_scale = real(math.sqrt(0.5)), real(1 / math.sqrt(2 * math.pi))
    lowest, highest, first_guess, least_slope = real(0.02), real(3), real(0.4), real(1e-4)

    @cuda.jit(device=True)
    def cumulative(x):
        return half * (one + math.erf(x * root_half))

    @cuda.jit(device=True)
    def density(x):
        return density_scale * math.exp(-half * x * x)

    @cuda.jit(device=True)
    def call_price(spot, strike, years, rate, volatility):
        spread = volatility * math.sqrt(years)
        first = (math.log(spot / strike) + (rate + half * volatility * volatility) * years) / spread
        return spot * cumulative(first) - strike * math.exp(-rate * years) * cumulative(first - spread)

    @cuda.jit
    def price_options(spots, strikes, years, rate, volatilities, prices):
        k = cuda.grid(1)
        if k < prices.size:
            prices[k] = call_price(spots[k], strikes[k], years[k], rate, volatilities[k])

    @cuda.jit
    def find_volatility(spots, strikes, years, rate, prices, volatilities):
        k = cuda.grid(1)
        if k < prices.size:
            spot, strike, time = spots[k], strikes[k], years[k]
            volatility = first_guess
            for _ in range(8):
                miss = call_price(spot, strike, time, rate, volatility) - prices[k]
                spread = volatility * math.sqrt(time)
                first = (math.log(spot / strike) + (rate + half * volatility * volatility) * time) / spread
                slope = max(spot * density(first) * math.sqrt(time), least_slope)
                volatility = min(max(volatility - miss / slope, lowest), highest)
            volatilities[k] = volatility

    @cuda.jit
    def greeks_of_calls(spots, strikes, years, rate, volatilities, delta, gamma, vega):
        k = cuda.grid(1)
        if k < delta.size:
            root = math.sqrt(years[k])
            spread = volatilities[k] * root
            first = (math.log(spots[k] / strikes[k]) + rate * years[k]) / spread + spread / two
            delta[k] = cumulative(first)
            gamma[k] = density(first) / (spots[k] * spread)
            vega[k] = spots[k] * density(first) * root
    return price_options, find_volatility, greeks_of_calls


def implied_volatilities(fixed):
    count = 32 << 20
    real = np.float32 if fixed else np.float64
    random = np.random.default_rng(5)
    # A slice of quotes is drawn and repeated with other spots: drawing all of them would take seconds.
    quotes = count // 8
    draws = random.random((3, quotes))
    spots = np.concatenate([95 + 10 * (draws[0] + shift) / 2 for shift in np.linspace(0, 1, 8)])
    strikes = np.tile(80 + 40 * draws[1], 8)
    years = np.tile(0.25 + 1.5 * draws[2], 8)
    chosen = np.tile(0.15 + 0.35 * draws[0], 8)
    spots, strikes, years, chosen = (
        cuda.to_device(array.astype(real)) for array in (spots, strikes, years, chosen))
    prices, volatilities, delta, gamma, vega = (cuda.device_array(count, real) for _ in range(5))
    rate = real(0.03)
    price_options, find_volatility, greeks_of_calls = option_kernels(real)
    threads = 256
    blocks = count // threads
    price_options[blocks, threads](spots, strikes, years, rate, chosen, prices)

    def step():
        find_volatility[blocks, threads](spots, strikes, years, rate, prices, volatilities)
        greeks_of_calls[blocks, threads](spots, strikes, years, rate, volatilities, delta, gamma, vega)
        return volatilities
    return step, 1
