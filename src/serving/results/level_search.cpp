#include "serving/results/level_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpmark::serving {
namespace {

double between_levels(double low, double high, bool whole) {
  const double middle = std::sqrt(low * high);
  return whole ? std::clamp(std::round(middle), low + 1, high - 1) : middle;
}

constexpr int kProbesOfUnreliable = 3;

bool close_enough(const LevelSearch& search, double low, double high) {
  return search.whole ? high - low <= std::max(1.0, std::floor(search.resolution * low))
                      : high - low <= search.resolution * low;
}

}  // namespace

Result<LevelFound> search_level(const LevelSearch& search, const std::function<Result<LevelVerdict>(double)>& probe) {
  LevelFound found;
  bool stopped = false;
  const auto is_met = [&](double level) -> Result<bool> {
    LevelVerdict verdict = LevelVerdict::unreliable;
    for (int i = 0; i < kProbesOfUnreliable && verdict == LevelVerdict::unreliable; ++i) {
      WM_ASSIGN(verdict, probe(level));
      found.polls.push_back({level, verdict});
    }
    stopped = verdict == LevelVerdict::stopped;
    if (verdict == LevelVerdict::unreliable) found.unreliable = level;
    return verdict == LevelVerdict::met;
  };
  for (double level = search.least; !stopped && found.missed == 0; level = std::min(2 * level, search.most)) {
    WM_ASSIGN(const bool met, is_met(level));
    if (stopped) return found;
    (met ? found.met : found.missed) = level;
    if (level >= search.most) break;
  }
  while (found.met > 0 && found.missed > 0 && !close_enough(search, found.met, found.missed)) {
    const double level = between_levels(found.met, found.missed, search.whole);
    WM_ASSIGN(const bool met, is_met(level));
    if (stopped) return found;
    (met ? found.met : found.missed) = level;
  }
  // Once more, and down where it does not hold.
  while (found.met > 0 && !found.confirmed) {
    WM_ASSIGN(const bool met, is_met(found.met));
    if (stopped) return found;
    if (met) {
      found.confirmed = true;
    } else {
      found.missed = found.met;
      found.met = 0;
      for (const auto& earlier : found.polls) {
        if (earlier.verdict == LevelVerdict::met && earlier.level < found.missed)
          found.met = std::max(found.met, earlier.level);
      }
    }
  }
  return found;
}

std::string LevelFound::sentence(const std::string& unit) const {
  if (polls.empty()) return "nothing was measured";
  const std::string limit = unreliable > 0 ? fmt::format(
                                                 "; from {:g} {} on, the client was unreliable, which says "
                                                 "nothing about the server",
                                                 unreliable, unit)
                                           : "";
  if (met == 0 && unreliable > 0 && unreliable <= polls.front().level) {
    return fmt::format("no load was measured reliably{}", limit);
  }
  if (met == 0) {
    const bool shown = polls.front().verdict == LevelVerdict::missed;
    return fmt::format("the objectives are not {} at {:g} {}, the lowest load that was tried",
                       shown ? "met" : "shown to be met", polls.front().level, unit) +
           limit;
  }
  std::string text = fmt::format("the objectives are met at {:g} {}", met, unit);
  if (missed > 0 && missed != unreliable) text += fmt::format(" and not shown to be at {:g}", missed);
  text += limit;
  if (missed == 0) text += ", the highest load that was tried";
  if (!confirmed) return text + "; not measured again, as the search was ended";
  // A met objective has its whole interval (95 %, two-sided) below the limit.
  constexpr double kPassOnce = 0.025;
  return text +
         fmt::format(
             ", confirmed by a second measurement. Chance that a load which misses an objective passes twice: at "
             "most {:.2g} %; that any of the {} loads does: at most {:.2g} % (for independent requests)",
             100 * kPassOnce * kPassOnce, polls.size(),
             std::min(100.0, 100 * kPassOnce * kPassOnce * static_cast<double>(polls.size())));
}

Result<SweepFound> sweep_loads(const Sweep& sweep,
                               const std::function<Result<SweepProbe>(double level, bool open_loop)>& probe) {
  SweepFound found;
  for (std::int64_t users = 1; users <= sweep.most_users; users *= 2) {
    WM_ASSIGN(const SweepProbe now, probe(static_cast<double>(users), false));
    found.polls.push_back(now);
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
    WM_ASSIGN(const SweepProbe now, probe(rate, true));
    found.polls.push_back(now);
    if (now.stopped) return found;
  }
  return found;
}

std::string SweepFound::sentence() const {
  if (polls.empty() || polls.back().stopped) return "the sweep was ended";
  if (!saturated) {
    return fmt::format("{:.4g} requests/s at {:g} users, and still growing: the server was not saturated",
                       saturated_per_s, saturated_users);
  }
  return fmt::format("{:.4g} requests/s with one user, saturated at {:.4g} requests/s by {:g} users", idle_per_s,
                     saturated_per_s, saturated_users);
}

}  // namespace warpmark::serving
