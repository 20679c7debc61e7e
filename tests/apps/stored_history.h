// A history made for tests of check and trend: sessions of one case on this machine, written into the store.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "apps/cli_fixture.h"
#include "base/result.h"
#include "device/machine.h"
#include "model/run.h"
#include "stats/summary.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::apps {

struct StoredSession {
  int day = 1;  ///< from 2026-01-01 on; orders the sessions
  double time = 1;
  std::string branch = "main";
  bool dirty = false;
  std::string commit;  ///< by the day if empty
  Machine machine = device::machine_facts();
  Outcome outcome = Outcome::passed;
  std::string reason;
  double other_load = 0.01;
  double core_clock_hz = 0;     ///< 0: not measured
  bool with_reference = false;  ///< `time` is stored as a ratio, too
};

/// Appends a session whose case "job" has the metrics time and, its reciprocal, rate; returns its id.
inline std::string store_session(store::Store& store, const StoredSession& what) {
  Session session;
  session.id = fmt::format("2026-{:04}", what.day);
  session.started = fmt::format("2026-{:02}-{:02}T00:00:00Z", 1 + (what.day - 1) / 28, 1 + (what.day - 1) % 28);
  session.command = "warpmark run --name job -- ./job";
  session.commit = what.commit.empty() ? fmt::format("{:040x}", what.day * 7919) : what.commit;
  session.branch = what.branch;
  session.dirty = what.dirty;
  session.machine = what.machine;
  WM_CHECK(store.begin(session).ok());
  Run run;
  run.id = session.id + ".0";
  run.workload = "command";
  run.device = "host";
  run.params.set("name", std::string("job"));
  run.outcome = what.outcome;
  run.reason = what.reason;
  run.rounds = 5;
  run.started = session.started;
  run.environment.readings = {{"other_load", "1", std::nullopt, what.other_load}};
  if (what.core_clock_hz > 0) {
    run.environment.readings.push_back({"core_clock", "Hz", std::nullopt, what.core_clock_hz});
  }
  if (what.outcome == Outcome::passed || what.outcome == Outcome::unreliable) {
    for (const bool rate : {false, true}) {
      Metric metric{.id = rate ? "rate" : "time",
                    .unit = rate ? "1/s" : "s",
                    .better = rate ? Better::higher : Better::lower,
                    .samples = std::vector<double>(5, rate ? 1 / what.time : what.time),
                    .round_sizes = {1, 1, 1, 1, 1}};
      metric.summary = stats::summarize(metric.samples);
      run.metrics.push_back(std::move(metric));
    }
    if (what.with_reference) {
      Metric ratio = run.metrics.front();
      ratio.id = "time_vs_4f1c2ab0d1";
      ratio.unit = "x";
      run.metrics.push_back(std::move(ratio));
    }
  }
  WM_CHECK(store.append_run(session.id, run).ok());
  WM_CHECK(store.finish(session.id, {}).ok());
  return session.id;
}

/// A quiet history: sessions differ by up to 0.3 %.
inline double quiet_time(int day, double level = 1) { return level * (1 + 0.003 * std::sin(day * 2.4)); }

inline void store_history(store::Store& store, int days, double level = 1, int first_day = 1) {
  for (int day = first_day; day < first_day + days; ++day) {
    store_session(store, {.day = day, .time = quiet_time(day, level)});
  }
}

class WithHistory : public Cli {
 protected:
  store::Store& store() {
    if (!store_) store_ = store::open_sqlite(path("test.db")).value();
    return *store_;
  }

 private:
  std::unique_ptr<store::Store> store_;
};

}  // namespace warpmark::apps
