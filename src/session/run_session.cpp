#include "session/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include "analyze/roofline.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/names.h"
#include "model/run_query.h"

namespace warpmark::session {
namespace {

using measure::RoundOptions;
using workloads::PlannedCase;

/// Whether two cases differ in their batch alone.
bool same_but_batch(const PlannedCase& a, const PlannedCase& b) {
  if (a.what.workload != b.what.workload || a.what.device != b.what.device || a.what.mode != b.what.mode) return false;
  const auto& left = a.what.params.items();
  const auto& right = b.what.params.items();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && (x.first == "batch" || x.second == y.second);
  });
}

/// A case in the course of a session.
struct Course {
  std::vector<Run> rounds;
  double overhead_s = 0;  ///< of the last round: everything but sampling (inputs, warm-up, check)
  bool finished = false;
};

/// Parameters that cannot be measured, libraries that are missing and wrong outputs do not get better by repetition.
bool is_final(const Run& run) { return !is_measured(run.outcome) && run.outcome != Outcome::skipped; }

class SessionRunner {
 public:
  SessionRunner(const std::vector<PlannedCase>& plan, const SessionOptions& options, Devices& devices,
                const SessionEvents& events, Session& session)
      : plan_(plan), options_(options), devices_(devices), events_(events), session_(session), courses_(plan.size()) {}

  Status run(const Known& known) {
    for (const Run& run : known.runs) {
      courses_.at(static_cast<std::size_t>(run.index)).finished = true;
      session_.runs.push_back(run);
    }
    for (const Run& round : known.rounds) courses_.at(static_cast<std::size_t>(round.index)).rounds.push_back(round);
    for (int round = 0; round < options_.rounds && !interrupted(); ++round) {
      for (const bool limits : {false, true}) measure_round(round, limits);
    }
    measure_limits_again();
    conclude();
    return first_failure_;
  }

 private:
  /// Limits that were added for the other cases come after these.
  void measure_round(int round, bool limits) {
    for (std::size_t i = 0; i < plan_.size() && !interrupted(); ++i) {
      if (plan_[i].for_ceiling != limits) continue;
      if (courses_[i].rounds.size() <= static_cast<std::size_t>(round)) measure_slice(i, round);
      finish_if_complete(i);
    }
  }

  [[nodiscard]] bool interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] double elapsed_s() const { return static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9; }

  void remember(const Status& status) {
    if (!status.ok() && first_failure_.ok()) first_failure_ = status;
  }

  [[nodiscard]] bool needs_round(const Course& course) const {
    return !course.finished && course.rounds.size() < static_cast<std::size_t>(options_.rounds) &&
           (course.rounds.empty() || !is_final(course.rounds.back()));
  }

  [[nodiscard]] std::size_t slices_left() const {
    std::size_t left = 0;
    for (const auto& course : courses_) {
      if (needs_round(course)) left += static_cast<std::size_t>(options_.rounds) - course.rounds.size();
    }
    return left;
  }

  /// Sampling time of the next slice: an equal share of what the budget leaves, less what the case spends besides.
  [[nodiscard]] double sampling_budget_s(const Course& course) const {
    if (options_.budget_s <= 0) return options_.slice_s;
    const double share =
        (options_.budget_s - elapsed_s()) / static_cast<double>(std::max<std::size_t>(1, slices_left()));
    return std::clamp(share - course.overhead_s, 0.02, options_.slice_s);
  }

  void report_progress(std::size_t index, int round, const std::string& stage = {}) {
    if (!events_.progress) return;
    const std::size_t left = slices_left();
    const double rate = measured_slices_ > 0 ? elapsed_s() / static_cast<double>(measured_slices_) : options_.slice_s;
    double left_s = rate * static_cast<double>(left);
    if (options_.budget_s > 0) left_s = std::min(left_s, std::max(0.0, options_.budget_s - elapsed_s()));
    events_.progress({.slices_done = plan_.size() * static_cast<std::size_t>(options_.rounds) - left,
                      .slices = plan_.size() * static_cast<std::size_t>(options_.rounds),
                      .elapsed_s = elapsed_s(),
                      .left_s = left_s,
                      .left_known = measured_slices_ > 0 || elapsed_s() < options_.slice_s,
                      .stage = stage,
                      .current = fmt::format("{} {}, round {} of {}", plan_[index].what.device, label_of(plan_[index]),
                                             round + 1, options_.rounds)});
  }

  /// A limit that was added for cases of which none gave a result.
  [[nodiscard]] bool is_of_no_use(std::size_t index) const {
    if (!plan_[index].for_ceiling) return false;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const auto& rounds = courses_[i].rounds;
      const bool refused = !rounds.empty() && is_final(rounds.back()) && rounds.back().metrics.empty();
      if (!plan_[i].for_ceiling && !refused) return false;
    }
    return true;
  }

  void measure_slice(std::size_t index, int round) {
    Course& course = courses_[index];
    if (!needs_round(course) || is_of_no_use(index)) return;
    report_progress(index, round);
    const std::int64_t begin = monotonic_ns();
    Run run = measured_or_refused(index, round);
    if (run.outcome == Outcome::skipped && interrupted()) return;
    run.index = static_cast<std::int64_t>(index);
    run.id = fmt::format("{}.{}", session_.id, index);
    run.repro = repro_line(run);
    const double sampled_s = run.metrics.empty() ? 0 : sampling_seconds(run);
    course.overhead_s = std::max(0.0, static_cast<double>(monotonic_ns() - begin) * 1e-9 - sampled_s);
    if (events_.round_done) remember(events_.round_done(run, round));
    course.rounds.push_back(std::move(run));
    ++measured_slices_;
  }

  static double sampling_seconds(const Run& run) {
    double sum = 0;
    for (const double sample : run.metrics.front().samples) sum += sample;
    return sum * static_cast<double>(run.timing.launches_per_sample);
  }

  Run measured_or_refused(std::size_t index, int round) {
    const PlannedCase& planned = plan_[index];
    Run run;
    run.workload = planned.what.workload->id;
    run.params = planned.what.params;
    run.device = planned.what.device;
    run.mode = planned.what.mode;
    run.rounds = 1;
    run.started = format_utc(wall_clock_s());
    if (planned.invalid) return measure::failed_run(std::move(run), *planned.invalid);
    if (const auto batch = batch_out_of_memory_before(index); batch > 0) {
      return measure::failed_run(
          std::move(run), with_code(unsupported_error(fmt::format("out of memory: a batch of {} was already", batch)),
                                    ErrorCode::out_of_memory));
    }
    if (options_.budget_s > 0 && elapsed_s() > options_.budget_s * 1.1) {
      run.outcome = Outcome::skipped;
      run.reason = fmt::format("the budget of {:.3g} s was used up", options_.budget_s);
      run.hint = "give more time with --budget, or fewer workloads";
      return run;
    }
    RoundOptions round_options;
    round_options.stopping = options_.stopping;
    round_options.stopping.budget_s = sampling_budget_s(courses_[index]);
    round_options.warmup.cap_s = std::min(options_.warmup_s, std::max(0.05, round_options.stopping.budget_s));
    round_options.number = static_cast<int>(round);
    round_options.seed = options_.seed * 1'000'003 + index * 101 + static_cast<std::size_t>(round);
    round_options.energy_s = options_.energy_s;
    round_options.host_cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    round_options.history = &history_;
    round_options.interrupted = options_.interrupted;
    round_options.stage = [this, index, round](const std::string& stage) { report_progress(index, round, stage); };
    run = measure::measure_round(planned.what, *devices_.at(planned.what.device), round_options);
    if (planned.until_memory && run.out_of_memory) {
      run = measure::failed_run(std::move(run),
                                with_code(unsupported_error("out of memory: " + run.reason), ErrorCode::out_of_memory));
      run.fault.reset();
    }
    return run;
  }

  /// The smaller batch of a case that is doubled until memory is used up, at which it was; 0 if there is none.
  [[nodiscard]] std::int64_t batch_out_of_memory_before(std::size_t index) const {
    for (std::size_t i = 0; plan_[index].until_memory && i < index; ++i) {
      if (!plan_[i].until_memory || courses_[i].rounds.empty() || !same_but_batch(plan_[i], plan_[index])) continue;
      const Run& before = courses_[i].rounds.back();
      if (before.out_of_memory) {
        return plan_[i].what.params.integer("batch");
      }
    }
    return 0;
  }

  void finish_if_complete(std::size_t index) {
    Course& course = courses_[index];
    if (course.finished || course.rounds.empty() || needs_round(course)) return;
    if (is_doubtful_limit(merged(index))) return;  // measure_limits_again()
    finish(index);
  }

  /// Whether shares of the peak would rest on a measurement that the machine disturbed.
  [[nodiscard]] bool is_doubtful_limit(const Run& run) const {
    return run.outcome == Outcome::unreliable && !analyze::ceilings_from(std::span(&run, 1), session_.machine).empty();
  }

  /// Limits that only a disturbed measurement has, once more: what disturbed it may have gone by now. The better of the
  /// two counts, with a note. Rounds of the second time are not stored one by one, so that an interrupted session which
  /// is resumed never joins the two.
  void measure_limits_again() {
    const std::vector<Ceiling> limits = limits_so_far();
    for (std::size_t index = 0; index < plan_.size() && !interrupted(); ++index) {
      Course& course = courses_[index];
      if (course.finished || course.rounds.empty()) continue;
      const Run first = merged(index);
      const bool needed = std::any_of(limits.begin(), limits.end(), [&](const Ceiling& limit) {
        return limit.unreliable && analyze::is_set_by(limit, first);
      });
      if (needed) measure_again(index, first);
      if (!interrupted()) finish(index);
    }
  }

  [[nodiscard]] std::vector<Ceiling> limits_so_far() const {
    std::vector<Run> runs = session_.runs;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!courses_[i].finished && !courses_[i].rounds.empty()) runs.push_back(merged(i));
    }
    return analyze::ceilings_from(runs, session_.machine);
  }

  void measure_again(std::size_t index, const Run& first) {
    std::vector<Run> again;
    for (int round = 0; round < options_.rounds; ++round) {
      report_progress(index, round);
      again.push_back(measured_or_refused(index, options_.rounds + round));
      if (interrupted()) return;
      again.back().id = first.id;
      again.back().repro = first.repro;
    }
    const Run second = measure::merge_rounds(again, options_.stopping);
    if (second.outcome == Outcome::passed) {
      again_notes_[index] = "the first time was unreliable: " + first.reason;
      courses_[index].rounds = std::move(again);
    } else {
      again_notes_[index] = "no better the second time: " + second.reason;
    }
  }

  [[nodiscard]] Run merged(std::size_t index) const {
    Run run = measure::merge_rounds(courses_[index].rounds, options_.stopping);
    run.index = static_cast<std::int64_t>(index);
    return run;
  }

  void finish(std::size_t index) {
    Course& course = courses_[index];
    Run run = merged(index);
    if (run.rounds < options_.rounds && run.outcome == Outcome::passed) {
      run.notes.emplace_back("rounds", fmt::format("{} of {} were measured", run.rounds, options_.rounds));
    }
    if (plan_[index].for_ceiling) run.notes.emplace_back("purpose", "measured for the limit it sets");
    if (const auto again = again_notes_.find(index); again != again_notes_.end()) {
      run.notes.emplace_back("measured again", again->second);
    }
    course.finished = true;
    // An interrupted case stays open in the store, so that its session can be resumed.
    if (events_.run_done && !interrupted()) remember(events_.run_done(run));
    session_.runs.push_back(std::move(run));
  }

  /// Whatever was measured becomes a run, also after Ctrl-C; then the peaks, which need all ceilings.
  void conclude() {
    session_.complete = !interrupted();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!courses_[i].finished && !courses_[i].rounds.empty()) finish(i);
    }
    attach_peaks(session_);
  }

  const std::vector<PlannedCase>& plan_;
  const SessionOptions& options_;
  Devices& devices_;
  const SessionEvents& events_;
  Session& session_;
  std::vector<Course> courses_;
  std::map<std::size_t, std::string> again_notes_;  ///< of limits that were measured twice
  measure::HostHistory history_;
  std::size_t measured_slices_ = 0;
  Status first_failure_;
  std::int64_t begin_ns_ = monotonic_ns();
};

}  // namespace

Status run_session(const std::vector<PlannedCase>& plan, const SessionOptions& options, Devices& devices,
                   const Known& known, const SessionEvents& events, Session& session) {
  return SessionRunner(plan, options, devices, events, session).run(known);
}

void attach_peaks(Session& session) {
  std::sort(session.runs.begin(), session.runs.end(), [](const Run& a, const Run& b) { return a.index < b.index; });
  session.ceilings = analyze::ceilings_from(session.runs, session.machine);
  for (Run& run : session.runs) {
    if (run.metrics.empty()) continue;
    for (const auto& device : session.machine.devices) {
      if (device.id == run.device) run.peak = analyze::share_of_peak(run, device, session.ceilings);
    }
  }
}

std::string repro_line(const Run& run) {
  std::string line =
      fmt::format("warpmark run {} --device {} --set mode={}", run.workload, run.device, name_of(run.mode));
  for (const auto& [name, value] : run.params.items()) line += " --set " + shell_quote(name + "=" + to_text(value));
  return line;
}

std::string label_of(const PlannedCase& planned) {
  const std::string params = to_text(planned.what.params);
  return planned.what.workload->id + (params.empty() ? "" : " " + params);
}

}  // namespace warpmark::session
