"""6-layer transformer over 4 sequences of 4096 bins with distance bias, bf16: attention. Flaw: matmul, a softmax
kernel and matmul over the whole matrix of scores. Cured by: flash attention in Triton."""
import math

import torch
import triton
import triton.language as tl


LOG2_E = 1.4426950408889634


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


def program(cured):
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
        if not cured:
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
