// A ledger of what a rank loses: each part of its breakdown can be given away once.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// What lost time is attributed to: rules, and causes that no rule of this rank covers.
enum class AttributedTo : std::uint8_t {
  data_loading,
  host_transfer,
  device_copy,
  cpu_gpu_sync,
  memory_allocation,
  optimizer,
  launch_overhead,
  attention,
  precision,
  memory_bandwidth,
  multi_gpu_comm,
  load_imbalance,
  host_work,
  waiting_for_input,
  blocking_call,
  late_host,        ///< what kept the host of the rank that is waited for: claimed there
  other_processes,  ///< the GPU worked for somebody else
  count,
};
inline constexpr std::size_t kAttributedTo = static_cast<std::size_t>(AttributedTo::count);

inline constexpr double kRoundingNs = 1;  ///< what is missing by no more is the rounding of differences

/// Of one rank, ns a step.
class Attributions {
 public:
  explicit Attributions(const RankEvidence& rank);

  /// Gives `by` up to `ns` of these parts, of the first one first, and no more than they have left. Returns what was
  /// given; what is given in full is exactly `ns`.
  double attribute(AttributedTo by, std::initializer_list<Part> parts, double ns);

  /// The part as broken down; of kernels and copies all time of the works, also where others cover them.
  [[nodiscard]] double whole_ns(Part part) const { return whole_[index(part)]; }
  [[nodiscard]] double left_ns(Part part) const { return left_[index(part)]; }
  [[nodiscard]] double attributed_ns(AttributedTo by, Part part) const { return attributed_[index(by)][index(part)]; }

 private:
  template <typename Enum>
  static constexpr std::size_t index(Enum one) {
    return static_cast<std::size_t>(one);
  }
  std::array<double, kParts> whole_{};
  std::array<double, kParts> left_{};
  std::array<std::array<double, kParts>, kAttributedTo> attributed_{};
};

}  // namespace warpmark::analyze
