#include "serving/traffic/arrivals.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::serving {
namespace {

constexpr const char* kArrivalForms = "constant, poisson, gamma:SHAPE (below 1 bursty), ramp:RATE (at the end)";

Result<double> positive(std::string_view text) {
  const auto number = parse_number(text);
  if (number.ok() && *number > 0 && *number <= kMostRate) return number;
  return usage_error(fmt::format("'{}' is no number above 0 and up to 1e6", text), kArrivalForms);
}

/// Seconds at which a process with the rate a + (b - a) t / T has had this mean number of arrivals; infinite after T.
double ramp_time(const Arrivals& arrivals, double duration_s, double expected) {
  const double a = arrivals.rate, slope = (arrivals.rate_end - arrivals.rate) / duration_s;
  if (std::abs(slope) < 1e-12) return expected / a;
  const double root = a * a + 2 * slope * expected;
  return root < 0 ? HUGE_VAL : (std::sqrt(root) - a) / slope;
}

}  // namespace

Result<Arrivals> parse_arrivals(std::string_view text, double rate) {
  Arrivals arrivals{.kind = ArrivalKind::poisson, .rate = rate};
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (name == "constant" || name == "poisson") {
    arrivals.kind = name == "constant" ? ArrivalKind::constant : ArrivalKind::poisson;
    if (colon == std::string_view::npos) return arrivals;
  } else if (name == "gamma") {
    arrivals.kind = ArrivalKind::gamma;
    WM_ASSIGN(arrivals.shape, positive(value));
    return arrivals;
  } else if (name == "ramp") {
    arrivals.kind = ArrivalKind::ramp;
    WM_ASSIGN(arrivals.rate_end, positive(value));
    return arrivals;
  }
  return usage_error(fmt::format("'{}' is no law of arrivals", text), kArrivalForms);
}

std::string to_text(const Arrivals& arrivals) {
  switch (arrivals.kind) {
    case ArrivalKind::closed: return "closed";
    case ArrivalKind::constant: return "constant";
    case ArrivalKind::poisson: return "poisson";
    case ArrivalKind::gamma: return fmt::format("gamma:{:g}", arrivals.shape);
    case ArrivalKind::ramp: return fmt::format("ramp:{:g}", arrivals.rate_end);
    case ArrivalKind::trace: return "trace";
  }
  return {};
}

std::vector<std::int64_t> due_times_ns(const Arrivals& arrivals, double duration_s, std::int64_t most,
                                       std::uint64_t seed) {
  std::vector<std::int64_t> times;
  stats::Random random(seed);
  double at_s = 0, expected = 0;
  while (static_cast<std::int64_t>(times.size()) < most) {
    const auto count = static_cast<double>(times.size());
    if (arrivals.kind == ArrivalKind::constant) at_s = count / arrivals.rate;
    if (arrivals.kind == ArrivalKind::poisson) at_s += draw_exponential(random) / arrivals.rate;
    if (arrivals.kind == ArrivalKind::gamma) {
      at_s += draw_gamma(random, arrivals.shape) / (arrivals.shape * arrivals.rate);
    }
    if (arrivals.kind == ArrivalKind::ramp)
      at_s = ramp_time(arrivals, duration_s, expected += draw_exponential(random));
    if (!(at_s < duration_s)) break;
    times.push_back(static_cast<std::int64_t>(at_s * 1e9));
  }
  return times;
}

}  // namespace warpmark::serving
