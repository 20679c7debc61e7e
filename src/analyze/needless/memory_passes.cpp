#include "analyze/needless/memory_passes.h"

#include <algorithm>

#include "analyze/names/kernel_names.h"
#include "analyze/needless/expanded_tensors.h"
#include "analyze/needless/fitted.h"
#include "analyze/needless/needless_copies.h"
#include "analyze/needless/streaming_kernels.h"
#include "analyze/needless/xla_kernels.h"
#include "analyze/recorded/steps.h"

namespace warpmark::analyze {

namespace {

class MemoryPasses {
 public:
  MemoryPasses(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
               const RecordedShapes& shapes, KernelBlame& blame)
      : timeline_(timeline), list_(list), steps_(steps), shapes_(shapes), result_(blame) {}

  void run() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (result_.owner[i] != Owner::none || !is_layout_conversion(name(i))) continue;
      result_.own(i, Owner::memory_bandwidth, kLayout);
      ++result_.layout_conversions;
    }
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    streaming_ = find_streaming_kernels(timeline_, list_);
    gathers(order);
    std::vector<std::size_t> chain;
    const bool training = has_backward_pass(timeline_, list_);
    if (!training) appends();
    const std::vector<std::int64_t> borders = borders_of(steps_);
    auto border = borders.begin();
    for (const std::size_t i : order) {
      const Category category = list_.works[i].category;
      if (category == Category::memset) continue;
      for (; border != borders.end() && list_.works[i].start >= *border; ++border) close(chain, training);
      const bool passes = is_elementwise(category) || category == Category::reduction || streaming_[i] > 0;
      const bool links = passes && result_.owner[i] == Owner::none;
      if (links && !chain.empty() && are_apart(chain, i)) close(chain, training);
      links ? chain.push_back(i) : close(chain, training);
    }
    close(chain, training);
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }
  /// Kernels of the program's own have one index space, and each comes once: what is repeated is a loop, of which a
  /// round needs all of the one before.
  bool are_apart(const std::vector<std::size_t>& chain, std::size_t i) const {
    if (xla_fused_apart(timeline_, list_, chain.back(), i) || streaming_[chain.back()] != streaming_[i]) return true;
    return streaming_[i] > 0 && std::ranges::any_of(chain, [&](std::size_t j) { return name(j) == name(i); });
  }

  void appends() {
    for (const Append& one : find_appends(timeline_, list_, shapes_)) {
      if (result_.owner[one.work] != Owner::none) continue;
      result_.own(one.work, Owner::memory_bandwidth, static_cast<float>(one.added));
      result_.appends.push_back(one.work);
    }
  }

  /// A gather whose rows the next kernels reduce or scatter is one pass with them. A framework's is an operator of its
  /// own, whatever reads its rows; what else a kernel of the program's own does that is called so is not known.
  void gathers(const std::vector<std::size_t>& order) {
    constexpr std::size_t kReach = 3;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::size_t i = order[at];
      if (list_.works[i].category != Category::gather || length(i) <= kBandwidthBoundNs) continue;
      bool writes_rows = list_.works[i].op != kNoEvent || is_of_framework(name(i));
      float left = result_.owner[i] == Owner::memory_bandwidth ? result_.share_left[i] : kGather;
      for (std::size_t next = at + 1; next < order.size() && next <= at + kReach; ++next) {
        const std::size_t j = order[next];
        const Category category = list_.works[j].category;
        if (category == Category::memset || length(j) <= kBandwidthBoundNs) continue;
        const bool reduces = category == Category::reduction && length(j) * 20 > length(i);
        const bool scatters = category == Category::gather && list_.works[j].op != list_.works[i].op &&
                              scatters_rows(timeline_.name_of(list_.works[j].event));
        if (reduces) {
          const auto both = static_cast<double>(length(i) + length(j));
          left = static_cast<float>(std::min(1.0, kReadOutOfOrder * static_cast<double>(length(j)) / both));
          result_.own(j, Owner::memory_bandwidth, left);
        } else if (scatters) {
          result_.own(j, Owner::memory_bandwidth, kReducedScatter);
          left = kScatteredGather;
        }
        writes_rows = writes_rows || reduces || scatters;
        if (reduces || scatters || !is_elementwise(category)) break;
      }
      result_.gathers += writes_rows;
      if (writes_rows) result_.own(i, Owner::memory_bandwidth, left);
    }
  }

  void close(std::vector<std::size_t>& chain, bool training) {
    drop_expanded(chain);
    std::int64_t sum = 0, longest = 0;
    std::ptrdiff_t reductions = 0;
    for (const std::size_t i : chain) {
      reductions += list_.works[i].category == Category::reduction;
      sum += length(i);
      longest = std::max(longest, length(i));
    }
    if (chain.size() >= 2 && sum > kBandwidthBoundNs * std::ssize(chain)) {
      const double passes = (streaming_[chain.front()] > 0 ? kOwnPasses : kChainPasses) +
                            (training ? kPassOfReduction : kReductionAgain) * static_cast<double>(reductions);
      const double fused = passes * static_cast<double>(longest) + kChainRest * static_cast<double>(sum);
      const auto left = static_cast<float>(std::min(1.0, fused / static_cast<double>(sum)));
      for (const std::size_t i : chain)
        result_.own(i, Owner::memory_bandwidth, left, std::max(left, 1.5F / static_cast<float>(chain.size())));
      ++result_.chains;
      result_.chain_kernels += std::ssize(chain);
    }
    chain.clear();
  }

  /// Takes the works out of the chain that are there for tensors that need not be written at all.
  void drop_expanded(std::vector<std::size_t>& chain) {
    if (chain.size() < 2) return;
    const std::vector<double> left = left_without_expanded(timeline_, list_, chain, shapes_);
    for (std::size_t at = 0; at < chain.size(); ++at) {
      if (left[at] < 1) result_.own(chain[at], Owner::memory_bandwidth, static_cast<float>(left[at]));
    }
    const auto dropped = std::erase_if(chain, [this](std::size_t i) { return result_.owner[i] != Owner::none; });
    result_.chains += dropped > 0;
    result_.chain_kernels += static_cast<std::int64_t>(dropped);
  }

  std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  const RecordedShapes& shapes_;
  KernelBlame& result_;
  std::vector<std::uint64_t> streaming_;
};

}  // namespace

void blame_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                         const RecordedShapes& shapes, KernelBlame& blame) {
  MemoryPasses(timeline, list, steps, shapes, blame).run();
}

}  // namespace warpmark::analyze
