// Store: every session and run ever measured on this account, appended and never rewritten. An edge with three
// implementations: SQLite (sqlite/sqlite_store.h), PostgreSQL for teams (postgres/postgres_store.h), and memory
// (memory_store.h) for tests and for runs that keep nothing.
//
// The cases of a session are measured in rounds. After each round its partial Run is appended, so that a killed program
// loses at most the round in progress; when a case has all its rounds, its merged Run is appended and stands for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/params.h"
#include "model/run.h"

namespace warpmark::store {

/// Empty texts match everything.
struct SessionQuery {
  std::string hostname;
  std::string fingerprint;  ///< Machine::fingerprint
  std::string commit;       ///< or the beginning of one
  std::string branch;
  std::string tag;
  std::string text;    ///< that the command, the host or the id holds, upper or lower case alike (ASCII)
  std::string before;  ///< id of a session: only those behind it in the list, for the next page
  std::int64_t limit = 20;
};

struct SessionSummary {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::string hostname;
  std::string fingerprint;
  std::string commit;
  std::string branch;
  bool dirty = false;
  bool complete = false;
  std::map<Outcome, std::int64_t> outcomes;  ///< number of runs by outcome; those without any are absent
  std::int64_t unmerged_rounds = 0;          ///< rounds of cases whose run is not there yet
  std::vector<std::string> tags;             ///< sorted
};

struct StoredSession {
  Session session;                   ///< runs by index; complete and ceilings as finish() left them
  std::vector<Run> unmerged_rounds;  ///< partial runs of cases without a merged one, by index, then by round
};

/// Which points of which series. Empty texts match everything.
struct RunQuery {
  std::string workload;  ///< glob: "gemm", "conv*"
  std::string device;
  Overrides params;  ///< all of these must match; values as to_text(ParamValue) writes them
  std::optional<Mode> mode;
  std::string metric;  ///< glob; empty: the primary metric of each run
  std::string fingerprint;
  std::string commit;  ///< or the beginning of one
  std::string branch;
  std::optional<bool> dirty;
  std::optional<std::string> case_params;  ///< the whole of RunPoint::params
  std::int64_t limit = 1000;
};

/// One metric of one run, for series over time.
struct RunPoint {
  std::string session;
  std::int64_t index = 0;  ///< Run::index
  std::string started;     ///< of the run, UTC
  std::string session_started;
  std::string commit;
  std::string branch;
  bool dirty = false;  ///< the commit had uncommitted changes on top
  std::string hostname;
  std::string fingerprint;
  std::string workload;
  std::string params;  ///< as to_text(Params) writes them
  std::string device;
  Mode mode = Mode::hot;
  Outcome outcome = Outcome::passed;
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::int64_t n = 0;
  double median = 0;
  std::optional<Interval> interval;  ///< of the median
};

/// Which runs, whatever became of them. Empty texts match everything.
struct RunListQuery {
  std::string session;  ///< exact id
  std::string hostname;
  std::string commit;  ///< or the beginning of one
  std::string workload;
  std::string device;
  std::optional<Outcome> outcome;
  std::string text;  ///< words that must all be in workload, params, device or mode, upper or lower case alike (ASCII)
  std::optional<std::pair<std::string, std::int64_t>> before;  ///< session and index of a run: only those behind it
  std::int64_t limit = 100;
};

/// What is measured on which device, how, with which primary metric: recurs in session after session.
struct CaseEntry {
  std::string workload;
  std::string params;  ///< as to_text(Params) writes them
  std::string device;
  Mode mode = Mode::hot;
  std::string metric;
  std::string newest;  ///< when it was last measured with a value; UTC
};

/// A machine that wrote into the store.
struct HostEntry {
  std::string hostname;
  std::string fingerprint;
  std::int64_t sessions = 0;
  std::string newest;   ///< start of its newest session, UTC
  std::string session;  ///< id of that
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
