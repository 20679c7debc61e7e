// Rules over the store: the newest results, change points, silence, and verdicts of checks. Everything is judged as
// of a moment, so that the past can be judged as it was then.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "validate/guard/series.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/rules.h"
#include "watch/alerts/state.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Sessions that a rule over checks looks at: the newest ones.
inline constexpr std::int64_t kMostCheckedSessions = 30;

struct HistoryWanted {
  double since_s = 0;  ///< 1970-based: sessions that began later are checked; 0: the newest kMostCheckedSessions alone
  const std::atomic<bool>* interrupted = nullptr;
};

[[nodiscard]] Labels series_labels(const std::string& label, const std::string& metric);

/// Of one rule. Sessions are checked once.
class PastChecks {
 public:
  [[nodiscard]] Status refresh(store::Store& store, const AlertRule& rule, const validate::KeptPoints& kept,
                               const std::vector<store::SessionSummary>& sessions, const HistoryWanted& wanted);
  /// The newest verdict of each metric of each host, as of a moment.
  [[nodiscard]] Evaluation evaluate(const AlertRule& rule, double at_s) const;
  /// When sessions with a verdict began.
  [[nodiscard]] std::vector<double> moments() const;

 private:
  struct Metric {
    Labels labels;
    std::optional<double> change;  ///< ratio less 1
    std::string what;
  };
  /// By label, metric and host.
  using Key = std::tuple<std::string, std::string, std::string>;
  using Verdicts = std::map<Key, Metric>;
  struct Entry {
    double started_s = 0;
    const Metric* wanted = nullptr;  ///< none where the verdict is another than the rule waits for
  };

  [[nodiscard]] static Result<Verdicts> check(store::Store& store, const AlertRule& rule, const std::string& id,
                                              const std::string& host, const validate::KeptPoints* kept);
  void add(const Key& key, double started_s, const Metric* wanted);
  void add_measured(const AlertRule& rule, const validate::KeptPoints& kept);
  [[nodiscard]] Status add_failed(store::Store& store, const store::SessionSummary& session);

  std::map<std::string, Verdicts> wanted_;   ///< by session: the verdicts that the rule waits for
  std::map<std::string, double> started_s_;  ///< of every session that was judged
  std::map<Key, std::vector<Entry>> entries_;
};

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

/// `seen` are the series of this rule that were there before; kept up to date. One that does not come back within a
/// week is forgotten.
[[nodiscard]] Evaluation evaluate_live(const AlertRule& rule, const std::vector<Family>& families, double watch_s,
                                       std::map<std::string, SeenSeries>& seen);

/// "91 is above 85 degC" and the like: the value, the word, the limit with its unit.
[[nodiscard]] std::string compared_text(double value, RuleCondition condition, const std::string& limit,
                                        const std::string& unit);

}  // namespace warpmark::watch
