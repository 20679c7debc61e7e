// Rules over checks: the verdicts of all sessions, as of any moment.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "validate/guard/kept_points.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/rules.h"

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

}  // namespace warpmark::watch
