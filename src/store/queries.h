// What can be asked of a store, and what it answers: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// What a verb concluded about a session beyond its runs, as it tells it in JSON: a matrix, an optimization, an
/// acceptance.
struct Document {
  std::string kind;   ///< of its schema: "matrix" of "warpmark.matrix/1"
  std::string made;   ///< UTC
  std::string title;  ///< one line for lists
  std::string text;   ///< JSON
};

/// Empty texts match everything.
struct DocumentQuery {
  std::string kind;
  std::string session;                                         ///< exact id
  std::string hostname;                                        ///< of the session
  std::optional<std::pair<std::string, std::int64_t>> before;  ///< session and index: only those behind it
  std::int64_t limit = 100;
};

struct DocumentEntry {
  std::string session;
  std::int64_t index = 0;  ///< among the documents of the session: 0, 1, ... as they came
  std::string kind;
  std::string made;
  std::string title;
  std::string hostname;
  std::string command;
  std::int64_t bytes = 0;
};

}  // namespace warpmark::store
