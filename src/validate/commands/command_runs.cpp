#include "validate/commands/command_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "measure/round.h"
#include "model/run_query.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::validate {
namespace {

constexpr double kThrottledShare = 0.25;
constexpr double kLoadNote = 0.05, kStealNote = 0.01;

/// A configuration in the course of the measurement.
struct Course {
  std::vector<Run> rounds;
  std::optional<double> first_s;  ///< of its first run of all
  bool finished = false;
};

/// Seconds from start to end, where the run has them among its metrics.
std::optional<double> wall_s_of(const Run& run) {
  const Metric* time = metric_of(run, "time");
  return time != nullptr && time->unit == "s" ? std::optional(time->samples.front()) : std::nullopt;
}

class CommandRunner {
 public:
  CommandRunner(measure::Experiment& experiment, std::span<const CommandCase> cases, const CommandRunOptions& options,
                const CommandRunEvents& events, Session& session)
      : experiment_(experiment),
        cases_(cases),
        options_(options),
        events_(events),
        session_(session),
        courses_(cases.size()) {}

  Status run() {
    for (std::int64_t warmup = 0; warmup < options_.warmup_runs; ++warmup) {
      for (const std::size_t at : order(-1 - warmup)) WM_TRY(measure(at, std::nullopt));
    }
    for (std::int64_t round = 0; round < options_.rounds && !over(round); ++round) {
      for (const std::size_t at : order(round)) WM_TRY(measure(at, round));
    }
    session_.complete = !interrupted();
    for (std::size_t at = 0; at < courses_.size(); ++at) WM_TRY(finish(at));
    std::sort(session_.runs.begin(), session_.runs.end(), [](const Run& a, const Run& b) { return a.index < b.index; });
    return {};
  }

 private:
  [[nodiscard]] bool interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] double now_s() const {
    return events_.clock_s ? events_.clock_s() : static_cast<double>(monotonic_ns()) * 1e-9;
  }
  /// The first round is always run: a measurement of nothing helps nobody.
  [[nodiscard]] bool over(std::int64_t round) const {
    return interrupted() || (round > 0 && options_.budget_s > 0 && now_s() - begin_s_ >= options_.budget_s);
  }

  [[nodiscard]] std::vector<std::size_t> order(std::int64_t round) const {
    std::vector<std::size_t> order(cases_.size());
    std::iota(order.begin(), order.end(), 0U);
    stats::Random random(stats::derive_seed(options_.seed, static_cast<std::uint64_t>(round)));
    std::shuffle(order.begin(), order.end(), random);
    return order;
  }

  /// A round of one configuration, or a warm-up run without a number.
  Status measure(std::size_t at, std::optional<std::int64_t> round) {
    Course& course = courses_[at];
    if (course.finished || interrupted()) return {};
    if (events_.progress) events_.progress(rounds_done_, options_.rounds * static_cast<std::int64_t>(cases_.size()));
    auto run = experiment_.run(cases_[at].config);
    if (interrupted()) return {};  // a run that was killed says nothing
    if (!run.ok()) return give_up(at, run.error());
    if (!courses_[at].first_s) courses_[at].first_s = wall_s_of(*run);
    if (!round) return {};
    ++rounds_done_;
    name(*run, at);
    run->seed = options_.seed;
    if (events_.round_done) WM_TRY(events_.round_done(*run, *round));
    course.rounds.push_back(std::move(*run));
    if (*round + 1 == options_.rounds) return finish(at);
    return {};
  }

  void name(Run& run, std::size_t at) const {
    run.index = static_cast<std::int64_t>(at);
    run.params = cases_[at].params;
    run.id = fmt::format("{}.{}", session_.id, run.index);
  }

  /// What fails once is not measured: its other rounds would be those in which it happened to work.
  Status give_up(std::size_t at, const Error& error) {
    Course& course = courses_[at];
    Run run;
    run.workload = "command";
    run.device = "host";
    run.started = format_utc(wall_clock_s());
    run = measure::failed_run(std::move(run), error);
    name(run, at);
    course.finished = true;
    if (events_.run_done) WM_TRY(events_.run_done(run));
    session_.runs.push_back(std::move(run));
    return {};
  }

  Status finish(std::size_t at) {
    Course& course = courses_[at];
    if (course.finished || course.rounds.empty()) return {};
    course.finished = true;
    Run run = merge_command_rounds(course.rounds);
    run.warmup = {.launches = options_.warmup_runs,
                  .settled = true,
                  .reason = "runs discarded before the first round",
                  .first_s = options_.warmup_runs > 0 ? course.first_s : std::nullopt};
    const auto done = static_cast<std::int64_t>(course.rounds.size());
    run.stopped_because = done == options_.rounds ? fmt::format("all {} rounds were run", done)
                          : interrupted()         ? fmt::format("interrupted after {} rounds", done)
                                                  : fmt::format("the budget was used up after {} rounds", done);
    if (events_.run_done && !interrupted()) WM_TRY(events_.run_done(run));
    session_.runs.push_back(std::move(run));
    return {};
  }

  measure::Experiment& experiment_;
  std::span<const CommandCase> cases_;
  const CommandRunOptions& options_;
  const CommandRunEvents& events_;
  Session& session_;
  std::vector<Course> courses_;
  std::int64_t rounds_done_ = 0;
  double begin_s_ = now_s();
};

/// Medians over the rounds instead of the last round's readings.
std::vector<Reading> typical_readings(std::span<const Run> rounds) {
  std::vector<Reading> readings;
  std::map<std::string, std::vector<double>> values;
  for (const Run& round : rounds) {
    for (const auto& reading : round.environment.readings) {
      if (!values.contains(reading.id)) readings.push_back({reading.id, reading.unit, std::nullopt, std::nullopt});
      if (reading.after) values[reading.id].push_back(*reading.after);
    }
  }
  for (auto& reading : readings) {
    if (const auto& list = values[reading.id]; !list.empty()) reading.after = stats::median(list);
  }
  return readings;
}

void note_share(Environment& environment, const char* id, double least, const char* sentence) {
  for (const auto& reading : environment.readings) {
    if (reading.id != id || !reading.after || *reading.after < least) continue;
    environment.disturbances.push_back(
        {id, fmt::format("{} {:.1f} % of the CPU time", sentence, *reading.after * 100), false});
  }
}

}  // namespace

Status measure_command_runs(measure::Experiment& experiment, std::span<const CommandCase> cases,
                            const CommandRunOptions& options, const CommandRunEvents& events, Session& session) {
  WM_CHECK(!cases.empty() && options.rounds > 0);
  return CommandRunner(experiment, cases, options, events, session).run();
}

Run merge_command_rounds(std::span<const Run> rounds) {
  // No precision is asked for: the rounds are as many as they are, and the interval tells what they are worth.
  Run run = measure::merge_rounds(rounds, {});
  run.converged = true;
  std::size_t throttled = 0;
  for (const Run& round : rounds) {
    throttled += std::any_of(round.environment.disturbances.begin(), round.environment.disturbances.end(),
                             [](const auto& item) { return item.id == "throttle"; });
  }
  run.environment.readings = typical_readings(rounds);
  const bool often = static_cast<double>(throttled) > kThrottledShare * static_cast<double>(rounds.size());
  for (auto& item : run.environment.disturbances) {
    if (item.id != "throttle") continue;
    item.invalidates = often;
    item.cause += fmt::format(" in {} of {} rounds", throttled, rounds.size());
    if (often && run.outcome == Outcome::passed) {
      run.outcome = Outcome::unreliable;
      run.reason = item.cause;
    }
  }
  note_share(run.environment, "other_load", kLoadNote, "other processes used");
  note_share(run.environment, "steal", kStealNote, "the hypervisor took");
  return run;
}

}  // namespace warpmark::validate
