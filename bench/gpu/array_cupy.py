"""The programs of array_cases.py that are written with CuPy. Each function makes a program's data and gives its step,
as (step, how many times the work of the broken variant's step it does)."""
import math

import cupy as cp
import cupyx
import numpy as np
from cupy.lib.stride_tricks import as_strided


def has_gpu():
    return cp.cuda.runtime.getDeviceCount() > 0


def synchronize():
    cp.cuda.Device().synchronize()


def is_finite(array):
    return bool(np.isfinite(cp.asnumpy(array)).all())


# --- astronomy -------------------------------------------------------------------------------------------------------

def exposures_stacked(fixed):
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
            if fixed:
                add_calibrated(frame, bias, dark, flat, reference, sky, seconds, gain, readout, signal_sum, weight_sum)
            else:
                add_exposure(frame, sky)
        return signal_sum / cp.maximum(weight_sum, 1e-6)
    return step, 1


# --- graphs ----------------------------------------------------------------------------------------------------------

SPREAD = r"""
extern "C" __global__ void spread_rank(const int* sources, const float* share, const float* rank, const float* topic,
                                       const float* links_out, float* next_share, float* next_rank, float* change,
                                       int pages, int links, float damping)
{
    __shared__ float changed;
    if (threadIdx.x == 0) changed = 0.0f;
    __syncthreads();
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    float difference = 0.0f;
    if (page < pages) {
        float sum = 0.0f;
        for (int link = 0; link < links; ++link) sum += share[sources[(size_t)link * pages + page]];
        float value = damping * sum + (1.0f - damping) * topic[page];
        difference = fabsf(value - rank[page]);
        next_rank[page] = value;
        next_share[page] = value / links_out[page];
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) difference += __shfl_down_sync(0xffffffffu, difference, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(&changed, difference);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(change, changed);
}
"""


def pagerank_topics(fixed):
    pages, links, iterations, tolerance = 1 << 20, 16, 80, 1e-7
    # Pages link to pages near them, as in a crawl sorted by address; it converges slowly.
    near = (cp.random.random((links, pages), dtype=cp.float32) * 2000).astype(cp.int32) - 1000
    sources = (cp.arange(pages, dtype=cp.int32) + near) % pages
    links_out = cp.maximum(cp.bincount(sources.ravel(), minlength=pages), 1).astype(cp.float32)
    topics = []
    for first in (1000, 300000, 700000):
        topic = cp.zeros(pages, cp.float32)
        topic[first:first + 4096] = 1 / 4096
        topics.append(topic)
    spread_rank = cp.RawKernel(SPREAD, "spread_rank")
    change = cp.zeros(1, cp.float32)
    ranks = [cp.empty(pages, cp.float32) for _ in range(2)]
    shares = [cp.empty(pages, cp.float32) for _ in range(2)]
    uniform = cp.full(pages, 1 / pages, cp.float32)
    threads = 256
    check_every = 20 if fixed else 1

    def rank_topic(topic):
        ranks[0][:] = uniform
        cp.divide(uniform, links_out, out=shares[0])
        for iteration in range(iterations):
            old, new = iteration % 2, 1 - iteration % 2
            change.fill(0)
            spread_rank((pages // threads,), (threads,),
                        (sources, shares[old], ranks[old], topic, links_out, shares[new], ranks[new], change,
                         np.int32(pages), np.int32(links), np.float32(0.85)))
            if (iteration + 1) % check_every == 0 and float(change[0]) < tolerance:
                break
        return ranks[new]

    def step():
        for topic in topics:
            rank = rank_topic(topic)
        return rank
    return step, 1


# --- registration ----------------------------------------------------------------------------------------------------

def frames_registered(fixed):
    count, size, stacks = 16, 2048, 3
    shape = (count, size, size)
    random = np.random.default_rng(1)
    camera = []
    for _ in range(stacks):
        stack = cupyx.empty_pinned(shape, np.uint16) if fixed else np.empty(shape, np.uint16)
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


# --- audio -----------------------------------------------------------------------------------------------------------

def mel_filters(bands, bins, rate):
    """Triangles that are evenly spaced in mel, bins x bands."""
    top = 2595 * math.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    hertz = np.linspace(0, rate / 2, bins)[:, None]
    rising = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


def music_mel_features(fixed):
    clips, rate, length, window_size, hop, bands = 160, 22050, 661500, 2048, 512, 64
    count, bins = 1 + (length - window_size) // hop, window_size // 2 + 1
    recordings = cp.random.random((clips, length), dtype=cp.float32) - cp.float32(0.5)
    window = cp.asarray(np.hanning(window_size).astype(np.float32))
    filters = cp.asarray(mel_filters(bands, bins, rate))
    power_of = cp.ElementwiseKernel("complex64 tone", "float32 power",
                                    "power = tone.real() * tone.real() + tone.imag() * tone.imag()", "power_of")
    decibel_of = cp.ElementwiseKernel("float32 energy", "float32 decibel",
                                      "decibel = 10.0f * log10f(max(energy, 1e-10f))", "decibel_of")
    limited = cp.ElementwiseKernel("float32 decibel, float32 peak", "float32 level",
                                   "level = max(decibel, peak - 80.0f)", "limited")

    def features(audio):
        lead = audio.shape[:-1]
        frames = as_strided(
            audio, (*lead, count, window_size), (*audio.strides[:-1], hop * audio.itemsize, audio.itemsize))
        power = power_of(cp.fft.rfft(frames * window))
        decibel = decibel_of(power.reshape(-1, bins) @ filters).reshape(*lead, count, bands)
        peak = decibel.reshape(*lead, -1).max(axis=-1).reshape(*lead, 1, 1)
        return limited(decibel, peak).mean(axis=-2).reshape(*lead, bands)

    def step():
        if fixed:
            return features(recordings)
        summary = cp.empty((clips, bands), cp.float32)
        for clip in range(clips):
            summary[clip] = features(recordings[clip])
        return summary
    return step, 1


# --- tomography ------------------------------------------------------------------------------------------------------

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


def tomography_slabs(fixed):
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
            if not fixed:
                pool.free_all_blocks()
        return volume
    return step, 1


# --- bioinformatics --------------------------------------------------------------------------------------------------

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


def motifs_in_background(fixed):
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
        bases = draw_on_gpu() if fixed else draw_on_host()
        find_motifs((sequences * length // 256, motifs // 64), (256,),
                    (bases, odds, cutoffs, found, np.int32(length), np.int32(sequences * length)))
        return found
    return step, 1


# --- optics ----------------------------------------------------------------------------------------------------------

def hologram_refocused(fixed):
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
