"""384 binding motifs searched in 4096 random sequences of 1024 bases: data_loading. Flaw: the sequences are drawn
with numpy in the step. Cured by: the sequences are drawn on the GPU."""
import cupy as cp
import numpy as np


FIND_MOTIFS = r"""
extern "C" __global__ void find_motifs(const unsigned char* bases, const float* odds, const float* cutoffs, int* found,
                                       int length, int places)
{
    const int width = 12, group = 64;
    __shared__ float scores[group * width * 4];
    for (int k = threadIdx.x; k < group * width * 4; k += blockDim.x)
        scores[k] = odds[(size_t)blockIdx.y * group * width * 4 + k];
    __syncthreads();
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = place < places && place % length <= length - width;
    int base[width];
    #pragma unroll
    for (int k = 0; k < width; ++k) base[k] = inside ? bases[place + k] : 0;
    for (int motif = 0; motif < group; ++motif) {
        float score = 0.0f;
        #pragma unroll
        for (int k = 0; k < width; ++k) score += scores[(motif * width + k) * 4 + base[k]];
        unsigned hits = __ballot_sync(0xffffffffu, inside && score > cutoffs[blockIdx.y * group + motif]);
        if (threadIdx.x % 32 == 0 && hits) atomicAdd(found + blockIdx.y * group + motif, __popc(hits));
    }
}
"""


def program(cured):
    sequences, length, motifs, width = 4096, 1024, 384, 12
    borders = (0.3, 0.5, 0.7)  # A 30%, C 20%, G 20%, T 30%
    random = np.random.default_rng(2)
    odds = cp.asarray(random.standard_normal((motifs, width, 4)).astype(np.float32))
    cutoffs = cp.full(motifs, 12, cp.float32)
    found = cp.zeros(motifs, cp.int32)
    find_motifs = cp.RawKernel(FIND_MOTIFS, "find_motifs")
    base_of = cp.ElementwiseKernel(
        "float32 draw, float32 a, float32 c, float32 g", "uint8 base",
        "base = (draw > a ? 1 : 0) + (draw > c ? 1 : 0) + (draw > g ? 1 : 0)", "base_of")

    def draw_on_host():
        draws = random.random((sequences, length), dtype=np.float32)
        bases = (draws > borders[0]).astype(np.uint8)
        for border in borders[1:]:
            bases += draws > border
        return cp.asarray(bases)

    def draw_on_gpu():
        return base_of(cp.random.random((sequences, length), dtype=cp.float32), *borders)

    def step():
        bases = draw_on_gpu() if cured else draw_on_host()
        find_motifs((sequences * length // 256, motifs // 64), (256,),
                    (bases, odds, cutoffs, found, np.int32(length), np.int32(sequences * length)))
        return found
    return step, 1
