#include "analyze/cures/widened_gradients.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "analyze/names/kernel_names.h"
#include "analyze/names/operator_shapes.h"
#include "analyze/names/ranges.h"
#include "analyze/recorded/collectives.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kFewestElements = 65'536;
constexpr std::size_t kNear = 8;           // launches from a collective to its casts
constexpr const char* kWidened = "Float";  // as PyTorch calls the type of a message

/// Whether it is a `wanted` kernel that converts so many elements. A bucket has one dimension; casts of activations
/// beside it have more.
bool casts(const RankEvidence& rank, const ReplayWork& one, std::int64_t elements, bool (*wanted)(std::string_view),
           bool of_bucket) {
  const GpuWork& work = rank.list.works[one.work];
  if (work.category != Category::elementwise || !wanted(rank.timeline->name_of(work.event))) return false;
  if (work.op == kNoEvent || rank.timeline->events.detail[work.op] == 0) return false;
  const Shapes shapes = parse_shapes(rank.timeline->names.at(rank.timeline->events.detail[work.op]));
  if (shapes.empty() || (of_bucket && shapes.front().size() != 1)) return false;
  return elements_in(shapes.front()) == elements;
}

}  // namespace

bool sends_buckets(const RankEvidence& rank) { return rank.timeline->names.find(kDdpForward).has_value(); }

WidenedGradients find_widened_gradients(const RankEvidence& rank) {
  WidenedGradients found;
  const CollectiveByEvent by_event = collectives_by_event(*rank.timeline);
  const std::span<const ReplayWork> works = rank.replay.works();
  const bool buckets = sends_buckets(rank);
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (rank.list.works[works[i].work].category != Category::communication) continue;
    const Collective* one = collective_of(rank.list.works[works[i].work], rank.list, by_event);
    if (one == nullptr || one->in_elements < kFewestElements || rank.timeline->names.at(one->data_type) != kWidened)
      continue;
    const std::size_t first = i - std::min(i, kNear);
    const auto before = works.subspan(first, i - first);
    const auto after = works.subspan(i + 1, std::min(kNear, works.size() - i - 1));
    const auto widens = std::find_if(before.rbegin(), before.rend(), [&](const ReplayWork& other) {
      return casts(rank, other, one->in_elements, is_conversion_kernel, buckets);
    });
    const auto narrows = std::find_if(after.begin(), after.end(), [&](const ReplayWork& other) {
      return casts(rank, other, one->in_elements, is_narrowing_kernel, buckets);
    });
    if (widens == before.rend() || narrows == after.end()) continue;
    found.collectives.push_back(works[i].work);
    found.casts.push_back(widens->work);
    found.casts.push_back(narrows->work);
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
