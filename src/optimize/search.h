// The search: which knob next, what is kept, what is proven in the end. Pure: what a trial costs and says comes in
// through Trials, so that the whole search is tested with programs of the imagination.
//
//   screening    knobs that can be switched within a process are tried in blocks of steps of one process: it may only
//                discard, on top of the best so far; after each kept step anew
//   forward      the candidate with the most foretold gain over risk, on top of the best so far: one run that may only
//                discard, then a sequential A/B test in fresh processes, in random order; kept where it is certainly
//                faster and its answers are the same. What the kept run shows decides the next candidates.
//   leave one out  the final set without each knob: one that gains nothing any more is dropped, and what a knob is said
//   to
//                gain is measured here, afresh, and not in the rounds that chose it (winner's curse)
//   final        the original against the final set in fresh rounds: the measured speed-up is this, and no product
//
// Where a budget runs short, what was found is proven rather than more tried.
//
// A knob that does nothing is claimed only if it wins two independent tests: the A/B that chose it and the final.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/comparison.h"
#include "model/journey.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// A setting that is worth a trial.
struct Proposal {
  Setting setting;
  std::string title;
  Numerics numerics = Numerics::rounding;
  Prediction predicted;
  double risk = 1;
  bool asked = false;       ///< the user named it: tried whatever is foretold
  bool switchable = false;  ///< Knob::switchable
  /// Its values grow until memory ends: after one that did not fit, or two that gained nothing, the rest are left out.
  bool until_memory_ends = false;
};

/// What a screening run or an A/B test of `to` against `from` said.
struct TrialResult {
  std::string failure;                      ///< why `to` did not run to its end or was not in force; empty: it did
  bool stopped = false;                     ///< interrupted or out of budget: nothing can be said
  bool promising = true;                    ///< of a screening: false discards
  double times_as_long = 1;                 ///< of a screening: to / from
  Verdict verdict = Verdict::inconclusive;  ///< of an A/B test, on the time
  std::optional<SpeedUp> speedup;           ///< from / to
  std::string reason;
  bool answers_same = true;
  AnswerCheck answers;
  std::optional<double> memory_bytes;
  std::optional<double> gpu_utilization;
  std::optional<double> joules_per_step;
  ProgramFacts facts;                                        ///< of `to`
  std::vector<std::pair<std::string, std::string>> kernels;  ///< of a recording: knob, in which kernels it showed
  std::vector<double> times_from_s;
  std::vector<double> times_to_s;
  double cost_s = 0;
  std::int64_t runs = 0;
};

/// What blocks of steps within one process said of a setting.
struct Screened {
  Setting setting;
  bool discard = false;
  std::optional<SpeedUp> gain;  ///< none where it could not be told
  std::int64_t rounds = 0;
  std::string text;  ///< the gain, or why there is none
};

struct ScreeningResult {
  std::vector<Screened> settings;
  std::string note;      ///< for the log: what it took, or why there was none; may be empty
  bool stopped = false;  ///< interrupted or out of budget
  std::string reason;
};

class Trials {
 public:
  virtual ~Trials() = default;
  /// One run of `to`; may only discard.
  virtual Result<TrialResult> screen(const Settings& from, const Settings& to, const NumericsSet& numerics) = 0;
  /// All settings, each alone on top of `from`, within one process; may only discard. Where that cannot be, nothing.
  virtual Result<ScreeningResult> screen_within(const Settings& /*from*/, const std::vector<Setting>& /*settings*/) {
    return ScreeningResult{};
  }
  /// `decide` keeps on until the test is decided; else it may end as soon as a gain is unlikely.
  virtual Result<TrialResult> compare(const Settings& from, const Settings& to, const NumericsSet& numerics,
                                      bool decide) = 0;
  /// Whether the program is as good under the settings by what the user judges it by, over whole runs. Where nobody
  /// asked for that, it is.
  virtual Result<TrialResult> evaluate(const Settings& /*settings*/) { return TrialResult{}; }
  /// What is known of the program under the settings, after a run of them that said `seen`: the bottleneck has moved.
  /// By further runs where that needs a recording.
  virtual Result<TrialResult> look(const Settings& /*settings*/, const ProgramFacts& seen) {
    TrialResult result;
    result.facts = seen;
    return result;
  }
  /// Whether the budget is enough for so many A/B tests.
  [[nodiscard]] virtual bool affords(std::size_t /*tests*/) const { return true; }
};

struct SearchOptions {
  double effect = 0.01;
  /// What may be tried on top of the settings, in view of the facts; asked again after each kept step.
  std::function<std::vector<Proposal>(const ProgramFacts&, const Settings&)> propose;
  std::function<void(const std::string&)> log;  ///< each decision as it falls; may be empty
  int most_trials = 40;
};

/// `journey` comes with its baseline, and goes with steps, decisions, plan and speed-up. Errors are those of the
/// trials.
[[nodiscard]] Status search(Trials& trials, const ProgramFacts& baseline, const SearchOptions& options,
                            Journey& journey);

/// The settings as a whole against the original, and nothing else.
[[nodiscard]] Status prove(Trials& trials, const ProgramFacts& baseline, const Settings& plan,
                           const SearchOptions& options, Journey& journey);

}  // namespace warpmark::optimize
