#include "workloads/models/model_losses.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace warpmark::workloads {

LossVerdict judged_losses(const StepLosses& losses) {
  for (const double loss : losses.all) {
    if (!std::isfinite(loss)) return {.fault = fmt::format("a loss is {}", loss), .seen = ""};
  }
  LossVerdict verdict;
  const double first = losses.all.front();
  if (!(std::abs(first - losses.ignorance) <= 0.15 * losses.ignorance + 0.1)) {
    verdict.fault =
        fmt::format("the first loss is {:.4g}; a network that knows nothing has {:.4g}", first, losses.ignorance);
  }
  constexpr std::size_t kLast = 4;
  if (!losses.train || losses.all.size() < kLast) return verdict;
  const auto tail = losses.all.last(kLast);
  const double last = std::accumulate(tail.begin(), tail.end(), 0.0) / kLast;
  verdict.seen = fmt::format("{:.4g} at first, {:.4g} after {} steps", first, last, losses.all.size());
  if (verdict.fault.empty() && !(last < first)) {
    verdict.fault = fmt::format("the loss did not fall: {:.4g}, then {:.4g}", first, last);
  }
  return verdict;
}

}  // namespace warpmark::workloads
