// The search: which settings are tried together, which next, what is kept, and what is proven. Pure: what a trial costs
// and finds comes in through Trials, so that the whole search is tested with simulated programs.
//
//   bundle   what an expert would apply at once, as a whole against the original, in one living process. Where it
//            fails, is slower or changes the answers it is taken apart. Group testing: Dorfman 1943; sequential
//            bifurcation: Bettonvil and Kleijnen 1997.
//   prove    the original against the bundle in fresh processes, two pairs or as many as the effect needs
//   improve  further settings and values on top of it, in the living process: compiling, other numbers of workers
//   prune    each setting is taken out once, in the living process; what gains nothing goes (ablation: Fawcett and
//            Hoos 2016), and the rest is proven again
//   singles  what cannot be switched in a living process (variables, arguments, patches), by pairs of fresh processes
//
// After every stage there is a proven plan or none; a budget that ends early ends the search with what is proven.
// What is reported as proven was selected by one measurement and confirmed by another.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/comparison.h"
#include "model/optimization.h"
#include "optimize/knob.h"
#include "optimize/stages/in_process.h"

namespace warpmark::optimize {

/// A setting that is worth a trial.
struct Proposal {
  Setting setting;
  std::string title;
  Numerics numerics = Numerics::rounding;
  Prediction predicted;
  double risk = 1;
  bool asked = false;       ///< the user named it: tried whatever is predicted
  bool switchable = false;  ///< Knob::switchable
  bool bundled = false;     ///< part of the first bundle
  /// Its values grow until memory ends: after one that did not fit, or two that gained nothing, the rest are left out.
  bool until_memory_ends = false;
};

/// Pairs of fresh processes with `to` against `from`.
struct TrialResult {
  std::string failure;  ///< why `to` did not run to its end or was not in force; empty: it did
  bool out_of_memory = false;
  bool stopped = false;                     ///< interrupted or out of budget: nothing is known
  bool futile = false;                      ///< ended early, as a gain was unlikely
  double times_as_long = 1;                 ///< to / from
  Verdict verdict = Verdict::inconclusive;  ///< on the time
  std::optional<SpeedUp> speedup;           ///< from / to
  std::string reason;
  bool answers_same = true;
  bool answers_known = true;  ///< of an evaluation: it could be decided
  AnswerCheck answers;
  std::optional<double> memory_bytes;
  std::optional<double> gpu_utilization;
  std::optional<double> joules_per_step;
  ProgramFacts facts;  ///< of `to`
  std::vector<double> times_from_s;
  std::vector<double> times_to_s;
  double cost_s = 0;
  std::int64_t runs = 0;
};

/// What a living process said of variants of a base.
struct WithinResult {
  std::string why_not;   ///< why there is no such process; empty: there is
  bool stopped = false;  ///< interrupted or out of budget
  std::string reason;
  std::vector<VariantResult> variants;
  bool draws = false;  ///< the program's forward draws random numbers
  double cost_s = 0;
};

/// What a recording of a few steps found.
struct Recorded {
  std::vector<FoundGain> found;
  bool analyzed = false;                                     ///< it had work of a GPU
  std::string text;                                          ///< for the log; may be empty
  std::vector<std::pair<std::string, std::string>> kernels;  ///< setting, in which kernels it showed
};

class Trials {
 public:
  virtual ~Trials() = default;
  /// Variants against `from` in one living process. `decide` spends more rounds where a difference of `effect` is open.
  virtual Result<WithinResult> within(const Settings& from, std::span<const Variant> variants, bool decide) = 0;
  /// What that takes about, without compiling and further rounds.
  [[nodiscard]] virtual double within_s(const Settings& /*from*/, std::span<const Variant> /*variants*/) const {
    return 0;
  }
  /// Pairs of fresh processes until they decide, or, unless `decide`, until a gain is unlikely. `state_checked`: the
  /// answers passed at the same state.
  virtual Result<TrialResult> compare(const Settings& from, const Variant& to, bool state_checked, bool decide) = 0;
  /// Whether the program is as good under the settings by the user's own measure, over whole runs. Where nobody asked
  /// for that, it is.
  virtual Result<TrialResult> evaluate(const Settings& /*settings*/) { return TrialResult{}; }
  /// Records a few steps of the living process under the settings; nothing where there is none.
  virtual Result<Recorded> record(const Settings& /*settings*/) { return Recorded{}; }
  /// Of the budget; infinite without one.
  [[nodiscard]] virtual double left_s() const { return std::numeric_limits<double>::infinity(); }
  [[nodiscard]] virtual double spent_s() const { return 0; }
  /// What the fewest pairs of a test take, as far as known.
  [[nodiscard]] virtual double test_s() const { return 0; }
};

struct SearchOptions {
  double effect = 0.01;
  /// What may be tried on top of the settings, in view of the facts; asked again after each kept step.
  std::function<std::vector<Proposal>(const ProgramFacts&, const Settings&)> propose;
  std::function<void(const std::string&)> log;  ///< each decision as it falls; may be empty
  int max_trials = 40;
};

/// `optimization` comes with its baseline, and goes with steps, decisions, plan and speedup. Errors are those of the
/// trials.
[[nodiscard]] Status search(Trials& trials, const ProgramFacts& baseline, const SearchOptions& options,
                            Optimization& optimization);

/// The settings as a whole against the original, and nothing else.
[[nodiscard]] Status prove(Trials& trials, const ProgramFacts& baseline, const Settings& plan,
                           const SearchOptions& options, Optimization& optimization);

}  // namespace warpmark::optimize
