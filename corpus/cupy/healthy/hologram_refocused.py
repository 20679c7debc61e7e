"""Hologram propagated to 48 planes of 2048x2048 by the angular spectrum: healthy."""
import cupy as cp
import numpy as np


def program(cured):
    planes, size, wavelength, pixel = 48, 2048, 0.5, 2.0  # micrometres
    hologram = cp.random.random((size, size), dtype=cp.float32)
    distances = cp.asarray(np.linspace(500, 2000, planes).astype(np.float32))
    propagate = cp.ElementwiseKernel(
        "raw complex64 spectrum, raw float32 distances, int32 size, float32 wavelength, float32 pixel",
        "complex64 field",
        """
        int plane = (int)i / (size * size), place = (int)i % (size * size), row = place / size, column = place % size;
        float down = (row < size / 2 ? row : row - size) / (size * pixel) * wavelength;
        float right = (column < size / 2 ? column : column - size) / (size * pixel) * wavelength;
        float waves = distances[plane] / wavelength * sqrtf(1.0f - down * down - right * right);
        float sine, cosine;
        sincospif(2.0f * (waves - rintf(waves)), &sine, &cosine);
        field = spectrum[place] * complex<float>(cosine, sine) / (float)size / (float)size;
        """, "propagate")
    sharpest = cp.ElementwiseKernel(
        "raw complex64 field, int32 planes, int32 size", "float32 brightest, int32 focus",
        """
        brightest = -1.0f;
        focus = 0;
        for (int plane = 0; plane < planes; ++plane) {
            complex<float> wave = field[(long long)plane * size * size + i];
            float intensity = wave.real() * wave.real() + wave.imag() * wave.imag();
            if (intensity > brightest) {
                brightest = intensity;
                focus = plane;
            }
        }
        """, "sharpest")
    field = cp.empty((planes, size, size), cp.complex64)
    brightest = cp.empty((size, size), cp.float32)
    focus = cp.empty((size, size), cp.int32)

    def step():
        spectrum = cp.fft.fft2(hologram)
        propagate(spectrum, distances, size, wavelength, pixel, field)
        # The kernel above has scaled already: norm="forward" leaves the inverse transform without its own pass.
        sharpest(cp.fft.ifft2(field, norm="forward"), planes, size, brightest, focus)
        return brightest
    return step, 1
