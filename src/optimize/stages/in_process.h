// Tests of settings within one living process of the program (workers/lab_process.h): what is asked of it, and what
// its answers say. Blocks of steps with and without the settings alternate, so that the start of processes, imports and
// the differences between hosts do not count. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/optimization.h"
#include "optimize/facts.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// Settings that are compared with a base, and how far answers may move under them.
struct Variant {
  Settings settings;
  NumericsSet numerics = Numerics::rounding;
};

/// What one process said of a variant.
struct VariantResult {
  std::string failure;                                       ///< why it cannot be used; empty: it can
  std::vector<std::pair<std::string, std::string>> nothing;  ///< settings that changed nothing, with the reason
  std::vector<std::string> elsewhere;                        ///< settings that need a fresh process
  std::vector<double> base_s;                                ///< one time of a step for each round ...
  std::vector<double> times_s;                               ///< ... and with the settings
  std::optional<SpeedUp> gain;                               ///< base / variant
  bool answers_same = true;
  AnswerCheck answers;
  std::optional<double> memory_bytes;
  std::optional<double> data_share;  ///< of a step, waiting for data
  std::string notes;
  double warm_s = 0;  ///< compiling
};

/// Settings of a loader make blocks longer: samples made before must be used up.
[[nodiscard]] bool is_of_loader(std::string_view knob);

/// How long a block is. Loader workers fill and empty their queue in bursts, so blocks are at least two of them long.
struct BlockLength {
  std::int64_t wash = 2;   ///< steps that are not timed
  std::int64_t steps = 0;  ///< at most
  std::int64_t least = 3;  ///< at least, then `seconds` ends it
  std::int64_t whole = 1;  ///< a multiple of it: short epochs are not cut
  double seconds = 0;      ///< 0: counts of steps alone, as for programs of several ranks
};
[[nodiscard]] BlockLength block_length(const ProgramFacts& facts, const Settings& settings, double step_s,
                                       bool switches_loader);

/// The command: `rounds` rounds, each with one block of each variant next to one of the base, in an order that reverses
/// from round to round (so that a drift cancels). Variant 0 is the base; `skip` are variants that are out.
[[nodiscard]] Json blocks_command(const ProgramFacts& facts, const Settings& base, std::span<const Variant> variants,
                                  const std::vector<bool>& skip, double step_s, std::int64_t rounds,
                                  bool first_forward);
/// Seconds that it takes about, compiling excluded.
[[nodiscard]] double expected_s(const Json& command, double step_s);
/// Compares the answers of the variants with those of the original at the same state.
[[nodiscard]] Json check_command(std::span<const Variant> variants);

/// Whether the program came to its end during the command: the answers are what was known until then.
[[nodiscard]] bool program_ended(const Json& answers);
/// Evaluations in blocks of the base, and its steps; of the rank that evaluates most.
struct TimeLeftOut {
  double left_out_s = 0;
  double counted_s = 0;

  void add(const TimeLeftOut& more) {
    left_out_s += more.left_out_s;
    counted_s += more.counted_s;
  }
  [[nodiscard]] double share() const { return left_out_s > 0 ? left_out_s / (left_out_s + counted_s) : 0; }
};
[[nodiscard]] TimeLeftOut time_left_out(const Json& answers);
/// Adds the answers (one a rank; times are those of the slowest) to what is known of each variant.
void add_blocks(const Json& answers, std::span<VariantResult> results);
/// Relative differences of outputs and gradients against those between two draws of the program itself, and against
/// what the kind of the settings allows.
void add_checks(const Json& answers, std::span<const Variant> variants, std::span<VariantResult> results);

}  // namespace warpmark::optimize
