#include "warpmark/ab/compare_measure.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <ostream>
#include <span>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "device/machine.h"
#include "report/build/comparison.h"
#include "session/new_session.h"
#include "store/keep.h"
#include "validate/commands/command_runs.h"
#include "warpmark/ab/compare_variants.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

/// Ids must be the same when a comparison that was killed while storing goes on: from the first sample of its piece and
/// its own id.
std::string session_id(const std::vector<Run>& runs, const Comparison& comparison, char variant, std::size_t piece) {
  return fmt::format("{}-{}{}{}", session::id_stamp(runs.front().started), comparison.id.substr(0, 6), variant,
                     piece == 0 ? "" : std::to_string(piece + 1));
}

std::vector<Run> runs_of(std::span<const validate::AbSample> samples, int variant) {
  std::vector<Run> runs;
  for (const auto& sample : samples) {
    if (sample.slot.variant != variant) continue;
    runs.push_back(sample.run);
    // The answers of a gate's command are no measurement.
    std::erase_if(runs.back().metrics, [](const Metric& metric) { return validate::is_check_metric(metric.id); });
  }
  return runs;
}

/// Stores both variants once: doing it again for the same comparison, as after a crash, adds nothing. `ends` says how
/// many samples there were each time that the comparison ended, by its rounds or by its budget: what lies between two
/// ends is a pair of sessions of its own, so that no sample is there twice. Returns the ids of the newest pair, A and
/// B; empty without any complete sample of both.
Result<std::pair<std::string, std::string>> store_variants(const Context& context, const ParsedOptions& options,
                                                           const Variants& variants,
                                                           std::span<const validate::AbSample> samples,
                                                           std::span<const std::size_t> ends,
                                                           const Comparison& comparison) {
  std::pair<std::string, std::string> ids;
  std::unique_ptr<store::Store> store;
  Session session = session::new_session(command_line_of(context));
  std::size_t begin = 0;
  for (std::size_t piece = 0; piece < ends.size(); ++piece) {
    const auto part = samples.subspan(begin, ends[piece] - begin);
    const std::vector<Run> rounds[] = {runs_of(part, 0), runs_of(part, 1)};
    // Without interleaving a budget may end among the runs of A alone: they go with the next piece.
    if (rounds[0].empty() || rounds[1].empty()) continue;
    begin = ends[piece];
    if (store == nullptr) {
      WM_ASSIGN(store, open_store(context, options));
    }
    for (std::size_t variant = 0; variant < 2; ++variant) {
      session.id = session_id(rounds[variant], comparison, variant == 0 ? 'a' : 'b', piece);
      session.started = rounds[variant].front().started;
      if (variants.worktrees.size() == 2) {
        session.commit = variants.worktrees[variant]->commit();
        session.branch.clear();
        session.dirty = false;
      }
      Run run = validate::merge_command_rounds(rounds[variant]);
      run.index = 0;
      run.id = session.id + ".0";
      run.stopped_because = comparison.stopped_because;
      session.runs = {std::move(run)};
      session.complete = true;
      WM_ASSIGN([[maybe_unused]] const auto kept, store::keep_session(*store, session));
      (variant == 0 ? ids.first : ids.second) = session.id;
    }
  }
  return ids;
}

/// What decides whether a journal belongs to this comparison.
std::string identity(const Variants& variants, const validate::AbOptions& test, const Machine& machine) {
  return fmt::format("{}rounds {} {} seed {} effect {} alpha {} early {} machine {}", variants.request,
                     test.schedule.rounds, name_of(test.schedule.interleave), test.schedule.seed, test.effect,
                     test.alpha, test.stop_early, machine.fingerprint);
}

/// "B / A 1.08 so far", of the first metric's means of logarithms.
class RatioSoFar {
 public:
  void add(const validate::AbSample& sample) {
    const auto variant = static_cast<std::size_t>(sample.slot.variant);
    if (variant > 1 || sample.run.metrics.empty() || !(sample.run.metrics.front().summary.median > 0)) return;
    sums_[variant] += std::log(sample.run.metrics.front().summary.median);
    ++counts_[variant];
  }
  [[nodiscard]] std::string text() const {
    if (counts_[0] == 0 || counts_[1] == 0) return {};
    return fmt::format("B / A {:.3f} so far", std::exp(sums_[1] / counts_[1] - sums_[0] / counts_[0]));
  }

 private:
  double sums_[2] = {}, counts_[2] = {};
};

/// What was measured goes into the history when the comparison ends, by its rounds or by its budget. Marked before it
/// is stored, and stored before the journal ends: killed between, the repetition stores what is missing and nothing
/// twice.
Status keep_comparison(Context& context, const ParsedOptions& options, const CompareRequest& request,
                       const Variants& variants, const std::vector<validate::AbSample>& samples, Comparison& comparison,
                       validate::Journal& journal) {
  if (!options.has("--no-store") && !options.has("--calibrate")) {
    WM_TRY(journal.end_piece());
    WM_ASSIGN(std::tie(comparison.session_a, comparison.session_b),
              store_variants(context, options, variants, samples, journal.pieces(), comparison));
  }
  // A budget may be raised: the journal stays open for a repetition to go on.
  const bool over = static_cast<std::int64_t>(samples.size()) == request.test.schedule.slots() || comparison.decided;
  if (over) return journal.complete();
  context.err << fmt::format("{}; run the same command again to resume\n", comparison.stopped_because);
  return {};
}

}  // namespace

Result<CompareRequest> compare_request_of(const ParsedOptions& options) {
  CompareRequest request;
  auto& test = request.test;
  WM_TRY(read_options(options, test, test.schedule));
  test.stop_early = !options.has("--fixed") && !options.has("--calibrate");
  WM_ASSIGN(request.format, format_of(options, {"text", "md", "html", "json", "github"}));
  return request;
}

Result<Comparison> measure_variants(Context& context, const ParsedOptions& options, CompareRequest& request) {
  WM_ASSIGN(const auto folder, state_folder(context, options));
  WM_TRY(make_folder(folder));
  WM_ASSIGN(const auto variants, make_variants(context, options, folder));
  const Machine machine = device::machine_facts();
  const std::string wanted = identity(variants, request.test, machine);
  request.test.accuracy = variants.accuracy;
  request.test.declared = variants.declared;
  const auto path = folder / (hash_of(wanted) + ".jsonl");
  WM_ASSIGN(auto journal,
            validate::Journal::open(path.string(), wanted, hash_of(fmt::format("{} {:.6f}", wanted, wall_clock_s())),
                                    options.has("--fresh")));
  auto known = journal.take_samples();
  if (!known.empty()) context.err << fmt::format("going on after {} runs of an interrupted comparison\n", known.size());
  request.test.interrupted = &context.interrupted;
  set_crash_messages("\nwarpmark: interrupted; run the same command again to resume\n", "");
  StepBar bar(context, request.test.budget_s);
  RatioSoFar ratio;
  const validate::AbEvents events{
      .sample_done =
          [&](const validate::AbSample& sample) {
            ratio.add(sample);
            return journal.append(sample);
          },
      .progress =
          [&](std::int64_t runs, std::int64_t most) {
            bar.update(runs, most, fmt::format("run {} of at most {}", std::min(runs + 1, most), most), ratio.text());
          },
      .clock_s = {}};
  auto outcome = validate::run_ab(variants.a, variants.b, request.test, std::move(known), events);
  bar.clear();
  set_crash_messages("\n", "");
  if (!outcome.ok()) return outcome.error();
  Comparison comparison = std::move(outcome->comparison);
  comparison.id = journal.id();
  if (outcome->complete)
    WM_TRY(keep_comparison(context, options, request, variants, outcome->samples, comparison, journal));
  comparison.machine = machine;
  comparison.machine.software.insert(comparison.machine.software.end(), variants.software.begin(),
                                     variants.software.end());
  comparison.build = session::build_info();
  if (options.has("--calibrate")) {
    comparison.calibration = validate::calibrate(
        comparison, {.effect = request.test.effect, .alpha = request.test.alpha, .paired = true, .sequential = true});
  }
  return comparison;
}

void remember_comparison(const Context& context, const ParsedOptions& options, const Comparison& comparison) {
  if (comparison.session_a.empty()) return;
  remember_verdict(context, options, {.sessions = {comparison.session_a, comparison.session_b}, .commit = {}},
                   to_json(comparison), report::overall_sentence(comparison));
}

int exit_code_of(const Comparison& comparison) {
  return rejecting_gate(comparison) != nullptr ? kAccuracyRejected : exit_code_of(overall(comparison));
}

}  // namespace warpmark::apps
