// What is left of a chain when it is fused: one pass, as long as its longest kernel, and one more for each reduction in
// it, as what follows a reduction reads its input again. A gather that is fused with what reads its rows moves them
// once, not three times (read, write, read). A layout that is kept needs no conversion.
#include "analyze/redundant/memory_passes.h"

#include <algorithm>

#include "analyze/names/kernel_names.h"
#include "analyze/names/words.h"
#include "analyze/redundant/xla_kernels.h"

namespace warpmark::analyze {

namespace {

constexpr float kGatherOnce = 1.0F / 3;

class MemoryPasses {
 public:
  MemoryPasses(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
               KernelAttribution& attribution)
      : timeline_(timeline), list_(list), steps_(steps), result_(attribution) {}

  void run() {
    const NameSet converts(timeline_.names, is_layout_conversion);
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (result_.owner[i] != Owner::none || !converts.contains(timeline_.events.name[list_.works[i].event])) continue;
      result_.own(i, Owner::memory_bandwidth, 0);
      ++result_.layout_conversions;
    }
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    gathers(order);
    chains(order);
  }

 private:
  void chains(const std::vector<std::size_t>& order) {
    const std::vector<std::int64_t> borders = borders_of(steps_);
    auto border = borders.begin();
    std::vector<std::size_t> chain;
    for (const std::size_t i : order) {
      const Category category = list_.works[i].category;
      if (category == Category::memset) continue;
      for (; border != borders.end() && list_.works[i].start >= *border; ++border) close(chain);
      const bool passes = is_elementwise(category) || category == Category::reduction;
      const bool links = passes && result_.owner[i] == Owner::none;
      if (links && !chain.empty() && xla_fused_apart(timeline_, list_, chain.back(), i)) close(chain);
      links ? chain.push_back(i) : close(chain);
    }
    close(chain);
  }

  /// Rows that the next kernels reduce, scatter or pass over.
  void gathers(const std::vector<std::size_t>& order) {
    for (std::size_t at = 0; at + 1 < order.size(); ++at) {
      const std::size_t i = order[at], next = order[at + 1];
      if (list_.works[i].category != Category::gather || length(i) <= kLatencyNs) continue;
      const Category category = list_.works[next].category;
      const bool read = category == Category::reduction || category == Category::gather || is_elementwise(category);
      if (!read || result_.owner[i] != Owner::none) continue;
      result_.own(i, Owner::memory_bandwidth, kGatherOnce);
      if (category == Category::reduction) result_.own(next, Owner::memory_bandwidth, kGatherOnce);
      ++result_.gathers;
    }
  }

  void close(std::vector<std::size_t>& chain) {
    std::int64_t sum = 0, longest = 0, passes = 1;
    for (const std::size_t i : chain) {
      passes += list_.works[i].category == Category::reduction ? 1 : 0;
      sum += length(i);
      longest = std::max(longest, length(i));
    }
    if (chain.size() >= 2 && sum > kLatencyNs * std::ssize(chain) && passes * longest < sum) {
      const float left = static_cast<float>(passes * longest) / static_cast<float>(sum);
      for (const std::size_t i : chain)
        result_.own(i, Owner::memory_bandwidth, left, static_cast<float>(passes) / static_cast<float>(chain.size()));
      ++result_.chains;
      result_.chain_kernels += std::ssize(chain);
    }
    chain.clear();
  }

  [[nodiscard]] std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  KernelAttribution& result_;
};

}  // namespace

void attribute_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                             KernelAttribution& attribution) {
  MemoryPasses(timeline, list, steps, attribution).run();
}

}  // namespace warpmark::analyze
