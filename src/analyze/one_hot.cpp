#include "analyze/one_hot.h"

#include <algorithm>
#include <cstdint>

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLongRowsNs = 4'000;  // shorter kernels are bound by latency, not by memory
constexpr float kPickedRows = 0.1F;          // a product with one-hot rows only picks or adds up rows
constexpr int kMostReaders = 16;             // a tensor above 2^31 bytes takes several launches a pass

bool in_one_hot(const Timeline& timeline, const WorkList& list, EventIndex op) {
  for (; op != kNoEvent; op = list.parent[op]) {
    if (timeline.name_of(op) == "aten::one_hot") return true;
  }
  return false;
}

/// Elements of the largest input.
std::int64_t most_elements(const Shapes& inputs) {
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& dims : inputs) {
    if (dims.size() >= 2) most = std::max(most, elements_in(dims));
  }
  return most;
}

bool reads_rows(const Shapes& inputs, std::int64_t elements) {
  return std::ranges::any_of(inputs, [elements](const std::vector<std::int64_t>& dims) {
    return dims.size() >= 2 && elements_in(dims) == elements;
  });
}

bool converts_rows(const Timeline& timeline, const GpuWork& work) {
  return is_elementwise(work.category) && contains_any(timeline.name_of(work.event), {"copy"});
}

}  // namespace

std::vector<OneHotWork> find_one_hots(const Timeline& timeline, const WorkList& list,
                                      const std::function<const Shapes&(EventIndex)>& shapes_of) {
  std::vector<OneHotWork> found;
  std::int64_t elements = 0;  // of the rows that were written last
  int readers = kMostReaders;
  for (const std::size_t i : works_of_main_stream(list)) {
    const GpuWork& work = list.works[i];
    const bool is_short = work.end - work.start <= kLongRowsNs;
    if (work.op != kNoEvent && in_one_hot(timeline, list, work.op)) {
      if (readers > 0) elements = 0;
      elements = std::max(elements, most_elements(shapes_of(work.op)));
      readers = 0;
      if (!is_short) found.push_back({i, 0.0F});
      continue;
    }
    if (readers >= kMostReaders || is_short) continue;
    const bool known = elements > 0 && reads_rows(shapes_of(work.op), elements);
    if (converts_rows(timeline, work) && (known || (elements == 0 && readers == 0))) {
      found.push_back({i, 0.0F});
    } else if (known && (work.category == Category::gemm || work.category == Category::reduction)) {
      found.push_back({i, kPickedRows});
    } else {
      readers = kMostReaders;
      continue;
    }
    ++readers;
  }
  return found;
}

}  // namespace warpmark::analyze
