"""Best match of 32768 mass spectra in a library of 131072, bf16: healthy."""
import torch
import triton
import triton.language as tl


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


def program(_):
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
