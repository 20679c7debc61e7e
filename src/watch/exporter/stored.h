// The newest results of the store as gauges, with when they were measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/running.h"
#include "store/store.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// Not thread safe.
class StoredVerdicts {
 public:
  /// Families of the verdicts on results that are told, against branch main. Judges at most one session at a call, so
  /// that no scrape waits for many; the newest first, and no more than the newest 20.
  [[nodiscard]] std::vector<Family> families(store::Store& store, const std::vector<store::RunPoint>& reported);

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

/// At most so many results are told of, the newest of each series.
inline constexpr std::size_t kMostStoredResults = 500;

/// Families of the newest primary result of each series, and of sessions that did not end. `warpmark_store_up` is 0 if
/// the store cannot be read now; the rest is absent then. Opens the store at each call: it may come and go.
/// With `verdicts` also what a check says of them.
[[nodiscard]] std::vector<Family> stored_families(const std::function<Result<std::unique_ptr<store::Store>>()>& open,
                                                  StoredVerdicts* verdicts = nullptr);

/// Sessions that measure now, by their marks beside the database (store/running.h).
[[nodiscard]] std::vector<Family> running_families(const std::vector<store::RunningSession>& sessions);

/// Seconds since 1970 of "2026-03-01T12:34:56Z"; nothing for another text.
[[nodiscard]] std::optional<double> unix_seconds(const std::string& utc);

/// When each `warpmark watch` whose state is in the folder (watch-*.json) wrote it last; not those that ended on
/// purpose.
[[nodiscard]] std::vector<Family> heartbeat_families(const std::filesystem::path& folder);

}  // namespace warpmark::watch
