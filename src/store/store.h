// Store: every session and run ever measured on this account, appended and never rewritten. An edge with two
// implementations: SQLite (sqlite/sqlite_store.h), and PostgreSQL for teams (postgres/postgres_store.h).
//
// The cases of a session are measured in rounds. After each round its partial Run is appended, so that a killed program
// loses at most the round in progress; when a case has all its rounds, its merged Run is appended and stands for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/run.h"
#include "store/queries.h"

namespace warpmark::store {

/// One value of a series. It takes some 80 bytes, a RunPoint 700.
struct SeriesPoint {
  const RunPoint* session = nullptr;  ///< a point of it, for what all its points share
  std::int64_t index = 0;
  std::int64_t n = 0;
  double median = 0;
  std::optional<Interval> interval;
};

/// One metric of one case, of every branch and machine.
struct PointSeries {
  RunPoint facts;                   ///< what all its points share; unit and direction are those of the newest
  std::vector<SeriesPoint> points;  ///< oldest first
};

struct PointTable {
  std::unordered_map<std::int64_t, RunPoint> sessions;  ///< nodes stay where they are when the table moves
  std::vector<PointSeries> series;
};

/// Calls come from one thread at a time. A call that returned without error has been committed: it survives kill -9.
/// Errors: environment (locked beyond the timeout, disk full, not writable), data (damaged file), internal (a session
/// that was not begun, a run or round that is there already).
class Store {
 public:
  virtual ~Store() = default;

  /// Starts a session: everything of it but its runs and ceilings, which are ignored.
  virtual Status begin(const Session& header) = 0;
  /// Keeps a partial run (rounds == 1) of the case with its index.
  virtual Status append_round(const std::string& session_id, const Run& partial, std::int64_t round) = 0;
  /// Keeps a case's merged run. Its rounds are in it, and are dropped in the same transaction.
  virtual Status append_run(const std::string& session_id, const Run& run) = 0;
  /// Keeps several merged runs in one transaction: all of them or none.
  virtual Status append_runs(const std::string& session_id, std::span<const Run> runs) = 0;
  /// Marks the session complete.
  virtual Status finish(const std::string& session_id, std::span<const Ceiling> ceilings) = 0;

  /// Keeps a document about a session, beside those that it has; the same text once. Passwords in URLs are left out.
  virtual Status attach(const std::string& session_id, const Document& document) = 0;
  /// Newest first.
  virtual Result<std::vector<DocumentEntry>> documents(const DocumentQuery& query) = 0;
  /// One of the session with exactly this id. Usage error if there is none.
  virtual Result<Document> document(const std::string& session_id, std::int64_t index) = 0;

  /// Newest first.
  virtual Result<std::vector<SessionSummary>> sessions(const SessionQuery& query) = 0;
  /// By id, by tag, by an unambiguous beginning of an id, or "last" for the newest. Usage error that lists the matches
  /// if there are several, or says what there is if there is none.
  virtual Result<StoredSession> load(const std::string& id) = 0;
  /// Gives a session (named as in load) one more name. No change if it has it already; usage error if another session
  /// does, and for a name that could be mistaken.
  virtual Status tag(const std::string& session, const std::string& name) = 0;
  /// Usage error if there is no such tag.
  virtual Status untag(const std::string& name) = 0;
  /// The one way in which results go: the sessions with exactly these ids and all that belongs to them, all or none.
  /// Usage error for a session that has a tag.
  virtual Status prune(std::span<const std::string> session_ids) = 0;

  /// Newest first; several metrics of one run by their names. Runs that do not have the metric (failed, skipped, ...)
  /// have no point.
  virtual Result<std::vector<RunPoint>> find(const RunQuery& query) = 0;
  /// Every metric of every case over time: the points of results that passed.
  virtual Result<PointTable> series() = 0;
  /// Newest first, each with its primary metric; a run without a value (it failed, was skipped, ...) has n = 0 and no
  /// unit.
  virtual Result<std::vector<RunPoint>> runs(const RunListQuery& query) = 0;
  /// One merged run with its samples, of the session with exactly this id. Usage error if there is none.
  virtual Result<Run> run(const std::string& session_id, std::int64_t index) = 0;
  /// All that have a value, the most recently measured first.
  virtual Result<std::vector<CaseEntry>> cases() = 0;
  /// All, by host name, then newest first.
  virtual Result<std::vector<HostEntry>> hosts() = 0;
};

/// getenv, or a test's replacement: nullptr for a variable that is not set.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// $WARPMARK_DB, else $XDG_DATA_HOME/warpmark/warpmark.db, else ~/.local/share/warpmark/warpmark.db. Environment error
/// if HOME is not set either. A relative XDG_DATA_HOME is ignored, as the XDG base directory specification demands.
[[nodiscard]] Result<std::filesystem::path> default_store_path(const EnvironmentLookup& environment);

}  // namespace warpmark::store
