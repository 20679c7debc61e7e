// A knob: one reversible change to a program that is not ours. What it changes, which findings it answers, how likely
// and how large its gain is for this program, what it may break, how it is put on, and the line that a person would
// write. Adding one: a `const Knob` in the file of its family under knobs/, and a line in knobs/catalog.cpp; one that
// acts inside of the program also needs a class of the same name in src/workers/hook/_warpmark_set_*.py.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/catalog.h"
#include "model/optimization.h"
#include "optimize/facts.h"

namespace warpmark::optimize {

inline constexpr const char* kCompile = "compile";
/// torch.compile's name of its mode with CUDA graphs.
inline constexpr const char* kCompileToGraphs = "reduce-overhead";

/// How far answers may move. Decides the limits of the answer check (answers.h).
enum class Numerics {
  exact,                ///< the same numbers
  rounding,             ///< another order of additions
  rounding_of_16_bits,  ///< the same by a knob of ours, of a program that computes in 16 bits
  random_streams,       ///< the same if nothing random is drawn in workers, else another draw
  precision,            ///< fewer bits
  semantic,             ///< another training: only where asked for, and judged by the trend of the loss
};
inline constexpr Numerics kAllNumerics[] = {
    Numerics::exact,          Numerics::rounding,  Numerics::rounding_of_16_bits,
    Numerics::random_streams, Numerics::precision, Numerics::semantic};
/// That a user may write; rounding has one name, of however many bits.
[[nodiscard]] const char* name_of(Numerics numerics);

/// How far answers may move under several settings together.
class NumericsSet {
 public:
  NumericsSet(Numerics one) { add(one); }  // NOLINT(google-explicit-constructor): one is a set, too
  void add(Numerics one) { bits_ |= 1U << static_cast<unsigned>(one); }
  [[nodiscard]] NumericsSet with(Numerics one) const {
    NumericsSet both = *this;
    both.add(one);
    return both;
  }
  [[nodiscard]] bool has(Numerics one) const { return (bits_ >> static_cast<unsigned>(one) & 1U) != 0; }
  [[nodiscard]] bool only_exact() const { return bits_ == 1U << static_cast<unsigned>(Numerics::exact); }

 private:
  unsigned bits_ = 0;
};

/// One value worth trying, and what is predicted of it.
struct Candidate {
  std::string value;
  Prediction predicted;
  const char* answers = "";  ///< as Knob::answers, where this value answers other findings than the knob's others
};

/// What a knob offers a program: values, the most promising first, or why there are none.
struct Offer {
  std::vector<Candidate> candidates;
  std::string why_not;
};

struct Setting {
  std::string knob;
  std::string value;
  friend bool operator==(const Setting&, const Setting&) = default;
};
using Settings = std::vector<Setting>;

/// As the values of a knob: from 0 on.
inline constexpr const char* kWholeNumber = "a whole number";

/// Where a program makes what a setting changes.
enum class Place { none, loader, optimizer, module };

struct Knob {
  const char* id;     ///< "loader.workers"
  const char* title;  ///< "loader workers"
  /// Rules whose findings it answers, separated by blanks, or none; "precision:tf32" is one advice of a rule.
  const char* answers;
  const char* breaks;  ///< what it may break
  const char* undo;
  Numerics numerics = Numerics::rounding;
  const char* values = "";    ///< that it takes, separated by '|', or kWholeNumber; empty: any text, as a list of CPUs
  double risk = 1;            ///< divides the predicted gain when candidates are ordered; 1 is safe
  const char* variable = "";  ///< an environment variable that is set to the value; empty: the hook acts
  char joined = '\0';  ///< what stands between the user's own value of the variable and ours; 0: ours replaces it
  const char* launcher =
      "";  ///< words put before the command, "{}" for the value: "taskset -c {}"; read back by the hook
  /// Parts of names by which kernels of a recording show it, any of them, separated by blanks; "fused=fusedadam" is
  /// that of one value. Empty: no kernel tells.
  const char* kernels = "";
  /// The hook can switch it between two steps: it is tested in the living process of the program before it gets
  /// processes of its own.
  bool switchable = false;
  bool bundled = false;  ///< an expert would apply it at once where it is offered: part of the first bundle
  /// From what is known of the program under the settings so far.
  Offer (*offer)(const ProgramFacts& facts, const Settings& settings);
  /// What a person would do: where, in words, and the line to write, "{}" for the value.
  Place place = Place::none;
  const char* text = "";
  const char* code = "";
  /// Instead of these, where they depend on more.
  OptimizationAdvice (*source)(const ProgramFacts& facts, std::string_view value) = nullptr;
};

[[nodiscard]] Catalog<Knob> knobs();

/// Of a program that computes in 16 bits sums in another order differ by more.
[[nodiscard]] Numerics numerics_of(const Knob& knob, const ProgramFacts& facts);

/// Whether it may have this value.
[[nodiscard]] bool takes(const Knob& knob, std::string_view value);
/// What it takes, for a person: "bf16, fp16, f32".
[[nodiscard]] std::string values_text(const Knob& knob);

[[nodiscard]] OptimizationAdvice advice_of(const Knob& knob, const ProgramFacts& facts, std::string_view value);

/// The value that the settings give a knob, or empty.
[[nodiscard]] std::string value_of(const Settings& settings, std::string_view knob);
/// Worker processes of the program's first loader under the settings; 0 where it has none, or the program no loader.
[[nodiscard]] std::int64_t loader_workers(const ProgramFacts& facts, const Settings& settings);
/// The settings with this one added or replaced; and without it.
[[nodiscard]] Settings with(Settings settings, const Setting& setting);
[[nodiscard]] Settings without(Settings settings, std::string_view knob);
/// "loader.workers=4 channels_last=on", or "nothing changed".
[[nodiscard]] std::string text_of(const Settings& settings);

}  // namespace warpmark::optimize
