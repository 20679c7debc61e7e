// A session in the JSON format of Google Benchmark (schema version 1), for tools that read it, such as its
// tools/compare.py: one "iteration" entry a sample with the run's name, then the aggregates. See the format's own
// documentation, "User Guide", and src/json_reporter.cc of github.com/google/benchmark.
//
// Where no CPU time is measured cpu_time, which the format demands, repeats real_time, and the context says so.
// Outcomes other than "passed" are named in the context as "warpmark_outcomes", by the index of the run among all that
// the file has: compare.py's geometric mean takes a time from every entry, so that one without any stops it and the
// format's own 0 would count as infinitely fast.
#pragma once

#include "base/json_fwd.h"
#include "model/run.h"

namespace warpmark::report {

[[nodiscard]] Json google_benchmark_json(const Session& session);

/// Notes of imported runs that the format has places for: a counter that was NaN, the aggregate that is all there is,
/// the number of threads.
inline constexpr const char* kNotANumber = "is not a number";
inline constexpr const char* kAggregateNote = "aggregate";
inline constexpr const char* kThreadsNote = "threads";

/// The label of runs with an outcome other than "passed".
[[nodiscard]] std::string outcome_label(const Run& run);

}  // namespace warpmark::report
