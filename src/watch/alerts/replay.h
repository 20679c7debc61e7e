// What rules would have told over the history that is stored: the same states and groups, driven by the times of the
// results instead of by a clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/report.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/history.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

struct Replay {
  std::string from;  ///< UTC
  std::string to;
  std::vector<Alert> alerts;                     ///< that fired, by when they did; without resolved_at: fires still
  std::map<std::string, std::int64_t> messages;  ///< that each sink would have got
  std::vector<std::string> live;                 ///< rules about live metrics, which were not evaluated
  std::vector<std::string> notes;                ///< rules without a past, and what could not be judged
  std::map<std::string, std::int64_t> by_rule;   ///< how often each rule fired, those that never did as 0
};

struct ReplayOptions {
  double from_s = 0;  ///< since 1970
  double to_s = 0;
  std::string host;
  const std::atomic<bool>* interrupted = nullptr;
};

/// `history` was refreshed for all sessions since from_s. Environment error when interrupted.
[[nodiscard]] Result<Replay> replay(const AlertRules& rules, StoredHistory& history, const ReplayOptions& options);

[[nodiscard]] Report build_report(const Replay& replay);
extern const RecordOf<Replay> kReplay;  ///< "warpmark.alert_replay/1"

}  // namespace warpmark::watch
