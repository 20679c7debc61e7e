#include "analyze/rules/widened_gradients.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>

#include "analyze/collective_traffic.h"
#include "analyze/operator_shapes.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kFewestElements = 65'536;
constexpr std::size_t kNear = 8;                         // launches from a collective to its casts
constexpr double kWithoutPadding = 0.99;                 // NCCL's message may leave out or add a few elements
constexpr const char* kWidened = "Float";                // as PyTorch calls the type of a message
constexpr const char* kCast = "copy_kernel";             // PyTorch's kernels that convert: direct_copy_kernel_cuda, ...
constexpr const char* kNarrows = "float16_copy_kernel";  // and bfloat16_copy_kernel_cuda

/// Elements of the first input of the operator that launched it; 0 if unknown.
std::int64_t elements_of(const RankEvidence& rank, const ReplayWork& one) {
  const EventIndex op = rank.list.works[one.work].op;
  if (op == kNoEvent || rank.timeline->events.detail[op] == 0) return 0;
  const Shapes shapes = parse_shapes(rank.timeline->names.at(rank.timeline->events.detail[op]));
  return shapes.empty() ? 0 : elements_in(shapes.front());
}

bool alike(std::int64_t a, std::int64_t b) {
  return static_cast<double>(std::min(a, b)) >= kWithoutPadding * static_cast<double>(std::max(a, b));
}

/// The work among these, nearest first, that converts so many elements.
template <typename Range>
std::optional<std::size_t> cast_among(const RankEvidence& rank, Range&& works, std::int64_t elements,
                                      std::string_view name) {
  for (const ReplayWork& one : works) {
    const GpuWork& work = rank.list.works[one.work];
    if (work.category != Category::elementwise || !contains_any(rank.timeline->name_of(work.event), {name})) continue;
    if (alike(elements_of(rank, one), elements)) return one.work;
  }
  return std::nullopt;
}

}  // namespace

WidenedGradients find_widened_gradients(const RankEvidence& rank) {
  WidenedGradients found;
  const CollectiveByEvent by_event = collectives_by_event(*rank.timeline);
  const std::span<const ReplayWork> works = rank.replay.works();
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (rank.list.works[works[i].work].category != Category::communication) continue;
    const Collective* one = collective_of(rank.list.works[works[i].work], rank.list, by_event);
    if (one == nullptr || one->in_elements < kFewestElements || rank.timeline->names.at(one->data_type) != kWidened)
      continue;
    const std::size_t first = i - std::min(i, kNear);
    const auto before = works.subspan(first, i - first);
    const auto after = works.subspan(i + 1, std::min(kNear, works.size() - i - 1));
    const auto widens = cast_among(rank, before | std::views::reverse, one->in_elements, kCast);
    const auto narrows = cast_among(rank, after, one->in_elements, kNarrows);
    if (!widens || !narrows) continue;
    found.collectives.push_back(works[i].work);
    found.casts.push_back(*widens);
    found.casts.push_back(*narrows);
  }
  return found;
}

Change reduced_as_they_are(const Evidence& evidence) {
  Change change(evidence);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    open_columns(evidence.ranks[r], change.ranks[r]);
    const WidenedGradients widened = find_widened_gradients(evidence.ranks[r]);
    for (const std::size_t i : widened.collectives) change.ranks[r].duration_scale[i] = 0.5F;
    for (const std::size_t i : widened.casts) change.ranks[r].duration_scale[i] = change.ranks[r].dispatch_scale[i] = 0;
  }
  return change;
}

}  // namespace warpmark::analyze
