"""12 CCD exposures of 5120x5120 calibrated and stacked with outliers rejected: memory_bandwidth. Flaw: every
operation of the calibration is a kernel of its own over the whole picture. Cured by: cupy.ElementwiseKernel of
the calibration: fused."""
import cupy as cp
import numpy as np


def program(cured):
    size, seconds, gain, readout = 5120, 30.0, 1.6, 4.5
    shape = (size, size)
    bias = 300 + 4 * cp.random.random(shape, dtype=cp.float32)
    dark = 0.1 * cp.random.random(shape, dtype=cp.float32)
    flat = 0.9 + 0.2 * cp.random.random(shape, dtype=cp.float32)
    reference = 1500 * cp.random.random(shape, dtype=cp.float32)
    frames = [(500 + 1500 * cp.random.random(shape, dtype=cp.float32)).astype(cp.uint16) for _ in range(12)]
    skies = [float(sky) for sky in np.linspace(80, 120, len(frames))]
    signal_sum = cp.zeros(shape, cp.float32)
    weight_sum = cp.zeros(shape, cp.float32)

    def add_exposure(frame, sky):
        electrons = (frame - bias - dark * seconds) / flat * gain
        variance = cp.maximum(electrons, 0) + readout * readout
        signal = electrons - sky
        deviation = cp.abs(signal - reference) / cp.sqrt(variance)
        weight = (deviation < 20) / variance
        cp.add(signal_sum, weight * signal, out=signal_sum)
        cp.add(weight_sum, weight, out=weight_sum)

    add_calibrated = cp.ElementwiseKernel(
        "uint16 frame, float32 bias, float32 dark, float32 flat, float32 reference, float32 sky, float32 seconds, "
        "float32 gain, float32 readout",
        "float32 signal_sum, float32 weight_sum",
        """
        float electrons = (frame - bias - dark * seconds) / flat * gain;
        float variance = max(electrons, 0.0f) + readout * readout;
        float signal = electrons - sky;
        float weight = fabsf(signal - reference) / sqrtf(variance) < 20.0f ? 1.0f / variance : 0.0f;
        signal_sum += weight * signal;
        weight_sum += weight;
        """, "add_calibrated")

    def step():
        signal_sum.fill(0)
        weight_sum.fill(0)
        for frame, sky in zip(frames, skies):
            if cured:
                add_calibrated(frame, bias, dark, flat, reference, sky, seconds, gain, readout, signal_sum, weight_sum)
            else:
                add_exposure(frame, sky)
        return signal_sum / cp.maximum(weight_sum, 1e-6)
    return step, 1
