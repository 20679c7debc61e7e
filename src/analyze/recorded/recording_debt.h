// Recording costs that fall into the host time after the event that was recorded: carried on from stretch to stretch.
#pragma once

#include <algorithm>
#include <cstdint>

namespace warpmark::analyze {

class RecordingDebt {
 public:
  /// `most_share`: of a stretch that may be recording (RecordingCost). `most_ns`: that is carried on.
  RecordingDebt(double most_share, std::int64_t most_ns) : most_share_(most_share), most_ns_(most_ns) {}

  void add(std::int64_t cost_ns) { debt_ns_ = std::min(debt_ns_ + cost_ns, most_ns_); }
  /// What of a stretch of this length was recording; it is paid then.
  [[nodiscard]] std::int64_t take(std::int64_t length_ns) {
    const auto most = static_cast<std::int64_t>(static_cast<double>(length_ns) * most_share_);
    const std::int64_t taken = std::min(most, debt_ns_);
    debt_ns_ -= taken;
    return taken;
  }

 private:
  double most_share_;
  std::int64_t most_ns_;
  std::int64_t debt_ns_ = 0;
};

}  // namespace warpmark::analyze
