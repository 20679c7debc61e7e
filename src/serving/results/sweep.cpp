#include "serving/results/sweep.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpmark::serving {

Result<SweepFound> sweep_loads(const Sweep& sweep,
                               const std::function<Result<SweepLook>(double level, bool open_loop)>& look) {
  SweepFound found;
  for (std::int64_t users = 1; users <= sweep.most_users; users *= 2) {
    WM_ASSIGN(const SweepLook now, look(static_cast<double>(users), false));
    found.looks.push_back(now);
    if (now.stopped) return found;
    if (users == 1) found.idle_per_s = now.requests_per_s;
    const bool grew = now.requests_per_s > (1 + sweep.growth) * found.saturated_per_s;
    if (grew || users == 1) {
      found.saturated_per_s = now.requests_per_s;
      found.saturated_users = static_cast<double>(users);
      continue;
    }
    found.saturated_per_s = std::max(found.saturated_per_s, now.requests_per_s);
    found.saturated = true;
    break;
  }
  for (std::int64_t i = 1; i <= sweep.rates && found.saturated_per_s > found.idle_per_s; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sweep.rates + 1);
    const double rate = found.idle_per_s + share * (found.saturated_per_s - found.idle_per_s);
    WM_ASSIGN(const SweepLook now, look(rate, true));
    found.looks.push_back(now);
    if (now.stopped) return found;
  }
  return found;
}

std::string SweepFound::sentence() const {
  if (looks.empty() || looks.back().stopped) return "the sweep was ended";
  if (!saturated) {
    return fmt::format("{:.4g} requests/s at {:g} users, and still growing: the server was not saturated",
                       saturated_per_s, saturated_users);
  }
  return fmt::format("{:.4g} requests/s with one user, saturated at {:.4g} requests/s by {:g} users", idle_per_s,
                     saturated_per_s, saturated_users);
}

}  // namespace warpmark::serving
