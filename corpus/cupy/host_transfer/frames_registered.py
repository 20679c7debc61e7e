"""Phase correlation and drift-corrected sum of 16 microscope frames of 2048x2048: host_transfer. Flaw: the
camera's frames lie in pageable memory, 128 MB are copied a step. Cured by: the camera's frames lie in pinned
memory."""
import cupy as cp
import cupyx
import numpy as np


def program(cured):
    count, size, stacks = 16, 2048, 3
    shape = (count, size, size)
    random = np.random.default_rng(1)
    camera = []
    for _ in range(stacks):
        stack = cupyx.empty_pinned(shape, np.uint16) if cured else np.empty(shape, np.uint16)
        stack[:] = random.integers(0, 4096, (1, size, size), dtype=np.uint16)
        for frame in range(count):
            stack[frame] = np.roll(stack[frame], (frame, 2 * frame), (0, 1))
        camera.append(stack)
    frames = cp.empty(shape, cp.uint16)
    reference = cp.fft.rfft2(cp.asarray(camera[0][0]).astype(cp.float32))
    peaks = cp.zeros(count, cp.int64)
    correlate = cp.ElementwiseKernel(
        "complex64 spectrum, complex64 reference", "complex64 cross",
        "complex<float> product = spectrum * conj(reference); cross = product / (abs(product) + 1e-6f)", "correlate")
    add_shifted = cp.ElementwiseKernel(
        "raw uint16 frames, raw int64 peaks, int32 count, int32 size", "float32 total",
        """
        int row = (int)i / size, column = (int)i % size;
        float sum = 0.0f;
        for (int frame = 0; frame < count; ++frame) {
            int peak = (int)peaks[frame], down = peak / size, right = peak % size;
            long long from = (long long)((row + down) % size) * size + (column + right) % size;
            sum += frames[(long long)frame * size * size + from];
        }
        total = sum / count;
        """, "add_shifted")
    total = cp.empty((size, size), cp.float32)
    number = 0

    def step():
        nonlocal number
        frames.set(camera[number % stacks])
        number += 1
        spectra = cp.fft.rfft2(frames.astype(cp.float32))
        correlation = cp.fft.irfft2(correlate(spectra, reference), s=(size, size))
        for frame in range(count):
            peaks[frame] = correlation[frame].argmax()
        add_shifted(frames, peaks, count, size, total)
        return total
    return step, 1
