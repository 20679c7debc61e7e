// Method: work is layered. Compute covers communication, communication covers copies, copies cover memsets; within a
// layer the work that began first owns the instant. What nothing covers is idle, and the idle stretches are explained
// by what the host did instead of launching the work that ends them.
#include "analyze/replay/breakdown.h"

#include <algorithm>

#include "analyze/replay/idle_causes.h"

namespace warpmark::analyze {

namespace {

struct Piece {
  std::int64_t start;
  std::int64_t end;
  std::size_t work;  // index into WorkList::works
};

/// The instants of [from, to) that works of one layer own: disjoint and ascending, as works are ascending by start.
template <typename Wanted>
std::vector<Piece> owned(const WorkList& list, std::int64_t from, std::int64_t to, Wanted wanted) {
  std::vector<Piece> pieces;
  std::int64_t covered = from;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.start >= to) break;
    if (!wanted(work.category)) continue;
    const std::int64_t start = std::max(work.start, covered);
    const std::int64_t end = std::min(work.end, to);
    if (end <= start) continue;
    pieces.push_back({start, end, i});
    covered = end;
  }
  return pieces;
}

class Layers {
 public:
  explicit Layers(const BreakdownInput& input) : input_(input) {}

  template <typename Wanted>
  void add(Wanted wanted, Breakdown& breakdown) {
    std::vector<Interval> mine;
    std::size_t at = 0;
    for (const Piece& piece : owned(input_.list, input_.steps.start(), input_.steps.end(), wanted)) {
      mine.push_back({piece.start, piece.end});
      while (at < taken_.size() && taken_[at].end <= piece.start) ++at;
      std::int64_t from = piece.start;
      for (std::size_t k = at; k < taken_.size() && taken_[k].start < piece.end; ++k) {
        give(piece.work, from, taken_[k].start, breakdown);
        from = std::max(from, taken_[k].end);
      }
      give(piece.work, from, piece.end, breakdown);
    }
    mine.insert(mine.end(), taken_.begin(), taken_.end());
    taken_ = united(std::move(mine));
  }
  [[nodiscard]] const std::vector<Interval>& taken() const { return taken_; }

 private:
  void give(std::size_t index, std::int64_t from, std::int64_t to, Breakdown& breakdown) const {
    if (to <= from) return;
    const Part part = part_of(input_.list.works[index].category);
    if (part == Part::exposed_communication && index < input_.wait_until.size()) {
      const std::int64_t until = std::clamp(input_.wait_until[index], from, to);
      count(Part::idle_waiting_for_rank, until - from, breakdown);
      from = until;
    }
    count(part, to - from, breakdown);
  }
  static void count(Part part, std::int64_t ns, Breakdown& breakdown) {
    if (ns <= 0) return;
    breakdown.ns[static_cast<std::size_t>(part)] += ns;
    breakdown.pieces[static_cast<std::size_t>(part)] += 1;
  }

  const BreakdownInput& input_;
  std::vector<Interval> taken_;
};

}  // namespace

const char* part_id(Part part) {
  static constexpr std::array<const char*, kParts> kIds = {
      "gemm",
      "convolution",
      "attention",
      "normalization",
      "softmax",
      "elementwise",
      "reduction",
      "gather",
      "optimizer",
      "graph",
      "other_kernels",
      "exposed_communication",
      "exposed_copy_to_device",
      "exposed_copy_to_host",
      "exposed_copy_on_device",
      "exposed_memset",
      "idle_data_loading",
      "idle_host_transfer",
      "idle_sync",
      "idle_allocation",
      "idle_waiting_for_rank",
      "idle_optimizer",
      "idle_launch",
      "idle_kernel_gap",
      "idle_host_work",
      "idle_waiting_for_input",
      "idle_blocking_call",
      "idle_profiler",
      "idle_unknown",
  };
  return kIds[static_cast<std::size_t>(part)];
}

Part part_of(Category category) {
  switch (category) {
    case Category::communication: return Part::exposed_communication;
    case Category::copy_to_device: return Part::exposed_copy_to_device;
    case Category::copy_to_host: return Part::exposed_copy_to_host;
    case Category::copy_on_device: return Part::exposed_copy_on_device;
    case Category::memset: return Part::exposed_memset;
    default: return static_cast<Part>(category);
  }
}

const char* part_group(Part part) {
  if (part < Part::exposed_communication) return "compute";
  if (part == Part::exposed_communication) return "communication";
  return part < Part::idle_data_loading ? "copy" : "idle";
}

std::int64_t Breakdown::total() const {
  std::int64_t sum = 0;
  for (const std::int64_t one : ns) sum += one;
  return sum;
}

Breakdown break_down(const BreakdownInput& input) {
  Breakdown breakdown;
  if (input.steps.analyzed.empty()) return breakdown;
  Layers layers(input);
  layers.add([](Category category) { return is_compute(category); }, breakdown);
  layers.add([](Category category) { return category == Category::communication; }, breakdown);
  layers.add([](Category category) { return is_copy(category); }, breakdown);
  layers.add([](Category category) { return category == Category::memset; }, breakdown);
  const Interval all{input.steps.start(), input.steps.end()};
  explain_idle(input, difference({&all, 1}, layers.taken()), breakdown);
  return breakdown;
}

std::vector<BreakdownPart> breakdown_parts(const Breakdown& breakdown) {
  std::vector<BreakdownPart> parts;
  // Shares are of the step as it is without recording, which so has none.
  const std::int64_t total = std::max<std::int64_t>(1, breakdown.total() - breakdown.of(Part::idle_profiler));
  for (std::size_t i = 0; i < kParts; ++i) {
    if (breakdown.ns[i] == 0) continue;
    const auto part = static_cast<Part>(i);
    const double share =
        part == Part::idle_profiler ? 0 : static_cast<double>(breakdown.ns[i]) / static_cast<double>(total);
    parts.push_back({part_id(part), part_group(part), breakdown.ns[i], share});
  }
  return parts;
}

}  // namespace warpmark::analyze
