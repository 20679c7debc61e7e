// Is B faster than A? By the tests of `warpmark compare`, against the smallest difference that matters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <warpmark/measure.hpp>

namespace warpmark::v0 {

enum class Better { lower, higher };

enum class Verdict {
  better,
  same,  ///< a difference as large as `effect` is ruled out
  worse,
  inconclusive,  ///< the data cannot tell
};
[[nodiscard]] const char* name_of(Verdict verdict);

struct CompareOptions {
  double effect = 0.01;  ///< smallest ratio that matters
  double alpha = 0.05;   ///< chance of calling equal sets different
  Better better = Better::lower;
  bool paired = false;  ///< a[i] and b[i] were taken side by side: what both met cancels out
};

struct Comparison {
  Verdict verdict = Verdict::inconclusive;
  std::optional<Estimate> ratio;  ///< B / A; absent where it is undefined
  std::optional<double> p;        ///< of "no difference", two-sided
  double median_a = 0;
  double median_b = 0;
  std::string reason;                       ///< why it is inconclusive
  std::optional<std::int64_t> more_values;  ///< about how many more of each would decide
};

/// Of independent values above 0 (a sample of one process, or one process's medians). Usage error for fewer than three
/// of either, for values that are not finite, or unequal numbers of pairs.
[[nodiscard]] Result<Comparison> compare(std::span<const double> a, std::span<const double> b,
                                         const CompareOptions& options = {});

/// "1.31x as fast [1.28x, 1.34x]: better"
[[nodiscard]] std::string to_text(const Comparison& comparison, const CompareOptions& options = {});

}  // namespace warpmark::v0
