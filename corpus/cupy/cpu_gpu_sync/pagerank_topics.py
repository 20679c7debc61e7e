"""Personalised PageRank of 3 topics in a graph of a million pages, 80 iterations each: cpu_gpu_sync. Flaw: float()
of the change after every iteration to see whether it has converged. Cured by: the change is read every 20
iterations."""
import cupy as cp
import numpy as np


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


def program(cured):
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
    check_every = 20 if cured else 1

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
