"""Filtered back projection of 6 slabs of 8 slices, 360 views, 512x512: memory_allocation. Flaw: free_all_blocks()
of the memory pool after every slab: cudaMalloc and cudaFree again for the next. Cured by: the pool keeps its
blocks."""
import cupy as cp
import numpy as np


BACKPROJECT = r"""
extern "C" __global__ void backproject(const float* lines, const float* cosines, const float* sines, float* slices,
                                       int views, int detectors, int size)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size || row >= size) return;
    float x = column - 0.5f * (size - 1), y = row - 0.5f * (size - 1), sum = 0.0f;
    const float* slice = lines + (size_t)blockIdx.z * views * detectors;
    for (int view = 0; view < views; ++view) {
        float place = x * cosines[view] + y * sines[view] + 0.5f * (detectors - 1);
        int left = (int)floorf(place);
        if (left >= 0 && left < detectors - 1) {
            float part = place - left;
            const float* line = slice + (size_t)view * detectors;
            sum += (1.0f - part) * line[left] + part * line[left + 1];
        }
    }
    slices[((size_t)blockIdx.z * size + row) * size + column] = sum * 3.14159265f / views;
}
"""


def program(cured):
    slabs, depth, views, detectors, size = 6, 8, 360, 1024, 512
    padded_size = 2 * detectors
    counts = 1000 + 9000 * cp.random.random((slabs, depth, views, detectors), dtype=cp.float32)
    open_beam = cp.full(detectors, 10000, cp.float32)
    angles = np.linspace(0, np.pi, views, endpoint=False)
    cosines, sines = (cp.asarray(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    ramp = cp.asarray(np.fft.rfftfreq(padded_size).astype(np.float32))
    backproject = cp.RawKernel(BACKPROJECT, "backproject")
    volume = cp.zeros((slabs * depth, size, size), cp.float32)
    absorption = cp.ElementwiseKernel("float32 count, float32 beam", "float32 line", "line = -logf(count / beam)",
                                      "absorption")
    pool = cp.get_default_memory_pool()

    def reconstruct(slab):
        padded = cp.zeros((depth, views, padded_size), cp.float32)
        padded[..., :detectors] = absorption(slab, open_beam)
        spectrum = cp.fft.rfft(padded)
        spectrum *= ramp
        filtered = cp.ascontiguousarray(cp.fft.irfft(spectrum, n=padded_size)[..., :detectors])
        slices = cp.empty((depth, size, size), cp.float32)
        backproject((size // 32, size // 8, depth), (32, 8, 1),
                    (filtered, cosines, sines, slices, np.int32(views), np.int32(detectors), np.int32(size)))
        return slices

    def step():
        for slab in range(slabs):
            volume[slab * depth:(slab + 1) * depth] = reconstruct(counts[slab])
            if not cured:
                pool.free_all_blocks()
        return volume
    return step, 1
