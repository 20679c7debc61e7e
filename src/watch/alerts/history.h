// Rules over the store: the newest results, change points, silence, and verdicts of checks. Everything is judged as
// of a moment, so that the past can be judged as it was then.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "validate/guard/series.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/past_checks.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

/// The newest results that rules over the store look at; some 80 MB.
inline constexpr std::int64_t kMostWatchedPoints = 1'000'000;

/// What of the store the rules need. Not thread safe; holds no connection.
class StoredHistory {
 public:
  explicit StoredHistory(std::vector<AlertRule> rules);
  ~StoredHistory();
  StoredHistory(StoredHistory&&) noexcept;
  StoredHistory& operator=(StoredHistory&&) noexcept;

  /// Reads what is new. Where nothing is, it costs one small query. Errors are those of the store.
  [[nodiscard]] Status refresh(store::Store& store, const HistoryWanted& wanted, double watch_s);
  /// When the newest session began: it may lie ahead of this machine's clock.
  [[nodiscard]] double newest_s() const;
  /// What holds at that moment, seconds since 1970, by what had been stored when it came.
  [[nodiscard]] Evaluation evaluate(const AlertRule& rule, double at_s);
  /// All moments from `from_s` on at which something of this rule may change: sessions, and silence that grew too long.
  [[nodiscard]] std::vector<double> moments(const AlertRule& rule, double from_s, double to_s);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace warpmark::watch
