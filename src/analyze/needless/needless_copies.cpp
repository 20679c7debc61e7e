#include "analyze/needless/needless_copies.h"

#include <algorithm>
#include <cstdint>

#include "analyze/names/kernel_names.h"
#include "analyze/names/operators.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostAppended = 1.0 / 32;

std::int64_t length(const GpuWork& work) { return work.end - work.start; }

double added_share(const Shapes& joined) {
  double largest = 0;
  double sum = 0;
  for (const std::vector<std::int64_t>& dims : joined) {
    double elements = 1;
    for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
    largest = std::max(largest, elements);
    sum += elements;
  }
  return sum > 0 ? (sum - largest) / sum : 1;
}

}  // namespace

std::vector<Append> find_appends(const Timeline& timeline, const WorkList& list, const RecordedShapes& shapes) {
  std::vector<Append> found;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (length(work) <= kBandwidthBoundNs || work.op == kNoEvent || !joins_tensors(timeline.name_of(work.op))) continue;
    const double added = added_share(shapes.of(work.op));
    if (added <= kMostAppended) found.push_back({i, added});
  }
  return found;
}

std::vector<std::size_t> find_copies_before_products(const Timeline& timeline, const WorkList& list,
                                                     const std::function<bool(std::size_t)>& is_product) {
  std::vector<std::size_t> found;
  const std::vector<std::size_t> order = works_of_main_stream(list);
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (!is_product(order[at])) continue;
    for (std::size_t before = at; before > 0 && at - before < kReachOfAttention; --before) {
      const std::size_t i = order[before - 1];
      const GpuWork& work = list.works[i];
      if (work.category == Category::memset) continue;
      if (!is_elementwise(work.category)) break;
      const bool long_copy = is_copy_kernel(timeline.name_of(work.event)) && length(work) > kBandwidthBoundNs;
      if (long_copy && length(work) >= length(list.works[order[at]])) found.push_back(i);
    }
  }
  return found;
}

}  // namespace warpmark::analyze
