// Where the sizes of operators' inputs were recorded, they tell that a result is far larger than what it is made from:
// inputs are broadcast against one another (PyTorch, "Broadcasting semantics"). How far the tensor reaches along the
// chain tell the grids: ATen gives a thread of an elementwise kernel a fixed number of elements, which its name holds
// (ATen/native/cuda/CUDALoops.cuh). Windows of a series (unfold) are views as large as their result and stay unseen.
#include "analyze/needless/expanded_tensors.h"

#include <algorithm>
#include <string_view>

#include "analyze/needless/fitted.h"

namespace warpmark::analyze {

namespace {

constexpr double kExpanded = 4;        // times as large as what it is made from
constexpr double kAlike = 3;           // vectorized kernels give a thread 4 or 8 elements, by version and type
constexpr double kMuchShorter = 0.25;  // what reads the reduced tensor, of the reduction
constexpr std::int64_t kLongEnoughNs = 10'000;

double elements_of(const Timeline& timeline, const GpuWork& work) {
  return threads_of(timeline, work) * elements_a_thread(timeline.name_of(work.event));
}

/// Whether the inputs together are far smaller than what they are broadcast to.
bool broadcasts(const Shapes& inputs) {
  std::vector<std::int64_t> result;  // from the last dimension on
  double sum = 0;
  for (const std::vector<std::int64_t>& dims : inputs) {
    double elements = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t dim = dims[dims.size() - 1 - i];
      if (i == result.size()) result.push_back(1);
      result[i] = std::max(result[i], dim);
      elements *= static_cast<double>(dim);
    }
    sum += elements;
  }
  double elements = 1;
  for (const std::int64_t dim : result) elements *= static_cast<double>(dim);
  return !inputs.empty() && elements > kExpanded * sum;
}

}  // namespace

std::vector<double> left_without_expanded(const Timeline& timeline, const WorkList& list,
                                          std::span<const std::size_t> chain, const RecordedShapes& shapes) {
  std::vector<double> left(chain.size(), 1.0);
  const auto work = [&](std::size_t at) -> const GpuWork& { return list.works[chain[at]]; };
  const auto op = [&](std::size_t at) -> std::string_view {
    return work(at).op == kNoEvent ? std::string_view() : timeline.name_of(work(at).op);
  };
  const auto length = [&](std::size_t at) { return static_cast<double>(work(at).end - work(at).start); };
  const auto is_short = [&](std::size_t at) { return length(at) < kLongEnoughNs; };
  const auto is_alike = [&](std::size_t at, double elements) {
    if (work(at).category != Category::elementwise) return false;
    const double own = elements_of(timeline, work(at));
    return own < kAlike * elements && elements < kAlike * own;
  };
  // [first, reduction) make and pass on the tensor, which `reduction` reads last; `least` of it is left.
  const auto drop = [&](std::size_t first, std::size_t reduction, double least) {
    const double next = reduction + 1 < chain.size() ? length(reduction + 1) : 0;
    if (next > kMuchShorter * length(reduction)) return;
    for (std::size_t at = first; at < reduction; ++at) left[at] = kChainRest;
    left[reduction] = std::max(least, next / length(reduction));
  };
  for (std::size_t first = 0; first < chain.size(); ++first) {
    if (work(first).category != Category::elementwise || is_short(first)) continue;
    std::size_t reads = first + 1;
    double elements = elements_of(timeline, work(first));
    const bool windows = lays_out_windows(op(first));
    if (windows) {  // one sample after another; what is computed beside is short
      while (reads < chain.size() && (is_short(reads) || lays_out_windows(op(reads)))) ++reads;
      if (reads < chain.size()) elements = elements_of(timeline, work(reads));
    } else if (!broadcasts(shapes.of(work(first).op))) {
      continue;
    }
    std::size_t reduction = reads;
    while (reduction < chain.size() && is_alike(reduction, elements)) ++reduction;
    const bool read = !windows || reduction > reads;  // by something of the size of the windows
    if (read && reduction < chain.size() && work(reduction).category == Category::reduction) {
      drop(first, reduction, kChainRest);
      first = reduction;
    } else {
      first = reduction - 1;
    }
  }
  for (std::size_t sum = 1; sum < chain.size(); ++sum) {
    if (!adds_up_windows(op(sum))) continue;
    const double summed = elements_of(timeline, work(sum));
    const double elements = elements_of(timeline, work(sum - 1));
    if (summed <= 0 || elements < kExpanded * summed) continue;
    std::size_t first = sum;
    while (first > 0 && left[first - 1] == 1 && is_alike(first - 1, elements)) --first;
    if (first > 0) drop(first, sum, std::max(kChainRest, summed / elements));  // else they come from before the chain
  }
  return left;
}

}  // namespace warpmark::analyze
