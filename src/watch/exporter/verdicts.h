// What `warpmark check` says of the newest results, for the exporter: remembered, as a scrape has no time to judge.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Not thread safe.
class StoredVerdicts {
 public:
  /// Families of the verdicts on results that are told, against branch main. Judges at most one session at a call, so
  /// that no scrape waits for many; the newest first, and no more than the newest 20.
  [[nodiscard]] std::vector<Family> families(store::Store& store, const std::vector<store::RunPoint>& told);

  /// How many sessions were judged so far: where a call judges none, another one changes nothing until the store does.
  [[nodiscard]] std::int64_t judged() const { return judged_; }

 private:
  struct Judged {
    std::string verdict;
    double change = 0;  ///< ratio less 1; 0 where undefined
    bool has_change = false;
  };
  using BySeries = std::map<std::pair<std::string, std::string>, Judged>;  ///< by the case's label and the metric
  [[nodiscard]] static std::optional<BySeries> judge(store::Store& store, const std::string& session);

  std::map<std::string, BySeries> sessions_;
  std::int64_t judged_ = 0;
};

/// The labels of a stored result.
[[nodiscard]] Labels result_labels(const store::RunPoint& point);

}  // namespace warpmark::watch
