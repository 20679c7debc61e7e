"""The programs of array_cases.py that are written with Triton, launched on torch's tensors. Each function makes a
program's data and gives its step, as (step, how many times the work of the broken variant's step it does)."""
import math

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


def has_gpu():
    return torch.cuda.is_available()


def synchronize():
    torch.cuda.synchronize()


def is_finite(tensor):
    return bool(torch.isfinite(tensor).all())


# --- genomics --------------------------------------------------------------------------------------------------------

@triton.jit
def normalise_bins(x_ptr, gain_ptr, out_ptr, WIDTH: tl.constexpr):
    """Root mean square normalisation of a bin's features, a program a bin."""
    place = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + place).to(tl.float32)
    gain = tl.load(gain_ptr + tl.arange(0, WIDTH)).to(tl.float32)
    x = x / tl.sqrt(tl.sum(x * x, axis=0) / WIDTH + 1e-6) * gain
    tl.store(out_ptr + place, x.to(out_ptr.dtype.element_ty))


@triton.jit
def activate(x_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place).to(tl.float32)
    tl.store(x_ptr + place, (x * tl.sigmoid(1.702 * x)).to(x_ptr.dtype.element_ty))


@triton.jit
def weigh_bins(scores_ptr, slope_ptr, length, scale, LENGTH: tl.constexpr):
    """Softmax of the scores of a bin with all others, less a slope times their distance; a program a row of scores."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    columns = tl.arange(0, LENGTH)
    place = (head.to(tl.int64) * length + row) * length + columns
    slope = tl.load(slope_ptr + head)
    score = tl.load(scores_ptr + place).to(tl.float32) * scale - slope * tl.abs(row - columns).to(tl.float32)
    score = tl.exp2(score - tl.max(score, axis=0))
    tl.store(scores_ptr + place, (score / tl.sum(score, axis=0)).to(scores_ptr.dtype.element_ty))


@triton.jit
def attend_bins(q_ptr, k_ptr, v_ptr, slope_ptr, out_ptr, length, scale, WIDTH: tl.constexpr, ROWS: tl.constexpr,
                COLUMNS: tl.constexpr):
    """The same, and the sum of the values, without the scores in memory; a program ROWS bins of a head."""
    head = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inner = tl.arange(0, WIDTH)
    first = head.to(tl.int64) * length * WIDTH
    q = tl.load(q_ptr + first + rows[:, None] * WIDTH + inner[None, :])
    slope = tl.load(slope_ptr + head)
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, length, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        k = tl.load(k_ptr + first + columns[None, :] * WIDTH + inner[:, None])
        score = tl.dot(q, k) * scale - slope * tl.abs(rows[:, None] - columns[None, :]).to(tl.float32)
        new_top = tl.maximum(top, tl.max(score, axis=1))
        score = tl.exp2(score - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(score, axis=1)
        v = tl.load(v_ptr + first + columns[:, None] * WIDTH + inner[None, :])
        out = out * shrink[:, None] + tl.dot(score.to(v.dtype), v)
        top = new_top
    out = out / total[:, None]
    tl.store(out_ptr + first + rows[:, None] * WIDTH + inner[None, :], out.to(out_ptr.dtype.element_ty))


def genome_tracks(fixed):
    sequences, length, features, heads, layers, tracks = 4, 4096, 512, 8, 6, 128
    width, bins = features // heads, sequences * length

    def weights(inputs, outputs):
        return (torch.randn(inputs, outputs, device="cuda") * inputs ** -0.5).to(torch.bfloat16)
    network = [{"qkv": weights(features, 3 * features), "out": weights(features, features),
                "up": weights(features, 4 * features), "down": weights(4 * features, features),
                "gains": torch.ones(2, features, device="cuda", dtype=torch.bfloat16)} for _ in range(layers)]
    to_tracks = weights(features, tracks)
    bases = torch.randn(bins, features, device="cuda").to(torch.bfloat16)
    slopes = (LOG2_E * 2.0 ** -torch.arange(1, heads + 1, device="cuda").float()).repeat(sequences)
    scale = LOG2_E / math.sqrt(width)

    def normalised(x, gain):
        out = torch.empty_like(x)
        normalise_bins[(bins,)](x, gain, out, WIDTH=features, num_warps=4)
        return out

    def attended(q, k, v):
        if not fixed:
            scores = torch.matmul(q, k.transpose(1, 2))
            weigh_bins[(length, sequences * heads)](scores, slopes, length, scale, LENGTH=length, num_warps=8)
            return torch.matmul(scores, v)
        out = torch.empty_like(q)
        attend_bins[(length // 128, sequences * heads)](q, k, v, slopes, out, length, scale, WIDTH=width, ROWS=128,
                                                        COLUMNS=64, num_warps=8, num_stages=3)
        return out

    @torch.no_grad()
    def step():
        x = bases
        for layer in network:
            qkv = torch.matmul(normalised(x, layer["gains"][0]), layer["qkv"])
            qkv = qkv.view(sequences, length, 3, heads, width).permute(2, 0, 3, 1, 4).contiguous()
            q, k, v = qkv.view(3, sequences * heads, length, width).unbind(0)
            mixed = attended(q, k, v).view(sequences, heads, length, width).transpose(1, 2).reshape(bins, features)
            x = x + torch.matmul(mixed, layer["out"])
            inner = torch.matmul(normalised(x, layer["gains"][1]), layer["up"])
            activate[(inner.numel() // 2048,)](inner, BLOCK=2048, num_warps=4)
            x = x + torch.matmul(inner, layer["down"])
        return torch.matmul(x, to_tracks)
    return step, 1


# --- finance ---------------------------------------------------------------------------------------------------------

@triton.jit
def back_in_time(value_ptr, next_ptr, payoff_ptr, volatility_ptr, points, rate, time_step, price_step,
                 BLOCK: tl.constexpr):
    """One explicit time step of the Black-Scholes equation in the logarithm of the price, a program an option."""
    option = tl.program_id(0)
    point = tl.arange(0, BLOCK)
    place = option * points + point
    inside = (point > 0) & (point < points - 1)
    here = tl.load(value_ptr + place, mask=point < points, other=0.0)
    below = tl.load(value_ptr + place - 1, mask=inside, other=0.0)
    above = tl.load(value_ptr + place + 1, mask=inside, other=0.0)
    payoff = tl.load(payoff_ptr + place, mask=point < points, other=0.0)
    volatility = tl.load(volatility_ptr + option)
    half_variance = 0.5 * volatility * volatility
    bend = (above - 2.0 * here + below) / (price_step * price_step)
    slope = (above - below) / (2.0 * price_step)
    held = here + time_step * (half_variance * bend + (rate - half_variance) * slope - rate * here)
    value = tl.maximum(tl.where(inside, held, payoff), payoff)
    tl.store(next_ptr + place, value, mask=point < points)


def american_puts(fixed):
    options, points, times, years, rate, span = 384, 1024, 600, 0.25, 0.03, 5.0
    price_step = span / (points - 1)
    strikes = torch.linspace(80, 120, options, device="cuda")
    # With volatilities up to 0.2 this explicit scheme is stable: 0.04 * time step / price step^2 is 0.7.
    volatilities = torch.linspace(0.1, 0.2, options, device="cuda")
    prices = 100 * torch.exp(torch.linspace(-span / 2, span / 2, points, device="cuda"))
    payoff = torch.clamp(strikes[:, None] - prices[None, :], min=0).contiguous()
    values = [torch.empty_like(payoff) for _ in range(2)]

    def value_options():
        values[0].copy_(payoff)
        for time in range(times):
            back_in_time[(options,)](values[time % 2], values[1 - time % 2], payoff, volatilities, points, rate,
                                     years / times, price_step, BLOCK=points, num_warps=4)
    if not fixed:
        def step():
            value_options()
            return values[times % 2]
        return step, 1

    value_options()  # compiles the kernel, which cannot be done while a graph is captured
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value_options()

    def replay():
        graph.replay()
        return values[times % 2]
    return replay, 1


# --- mass spectrometry -----------------------------------------------------------------------------------------------

@triton.jit
def best_of_part(query_ptr, library_ptr, score_ptr, entry_ptr, queries, part_size, PEAKS: tl.constexpr,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The most similar spectrum of a part of the library for ROWS queries."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.program_id(1)
    peaks = tl.arange(0, PEAKS)
    query = tl.load(query_ptr + rows[:, None] * PEAKS + peaks[None, :])
    best = tl.full([ROWS], float("-inf"), tl.float32)
    entry = tl.zeros([ROWS], tl.int32)
    for start in range(part * part_size, (part + 1) * part_size, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        library = tl.load(library_ptr + columns[None, :] * PEAKS + peaks[:, None])
        score = tl.dot(query, library)
        top = tl.max(score, axis=1)
        entry = tl.where(top > best, start + tl.argmax(score, axis=1), entry)
        best = tl.maximum(best, top)
    tl.store(score_ptr + part * queries + rows, best)
    tl.store(entry_ptr + part * queries + rows, entry)


def spectra_searched(_):
    queries, entries, peaks, parts = 32768, 131072, 256, 8

    def spectra(count):
        peaks_of = torch.rand(count, peaks, device="cuda") ** 4
        return (peaks_of / peaks_of.norm(dim=1, keepdim=True)).to(torch.bfloat16)
    library, measured = spectra(entries), spectra(queries)
    scores = torch.empty(parts, queries, device="cuda")
    found = torch.empty(parts, queries, device="cuda", dtype=torch.int32)

    def step():
        best_of_part[(queries // 128, parts)](measured, library, scores, found, queries, entries // parts,
                                              PEAKS=peaks, ROWS=128, COLUMNS=128, num_warps=8, num_stages=2)
        best, part = scores.max(dim=0)
        return torch.stack([best, found.gather(0, part[None, :])[0].float()])
    return step, 1
