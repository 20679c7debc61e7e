// What the losses of a round's steps say: that a network that knew nothing learned something.
#pragma once

#include <span>
#include <string>

namespace warpmark::workloads {

struct StepLosses {
  std::span<const double> all;  ///< of every step, in their order
  double ignorance = 0;         ///< of a network that knows nothing
  bool train = true;
};

struct LossVerdict {
  std::string fault;  ///< empty where they are as they should be
  std::string seen;   ///< first and last; empty where too few were seen
};

/// The first is that of a network that knows nothing, within 15 % + 0.1; of a training the mean of the last four is
/// below it. Not empty. Pure.
[[nodiscard]] LossVerdict judged_losses(const StepLosses& losses);

}  // namespace warpmark::workloads
