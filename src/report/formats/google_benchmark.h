// A session in the JSON format of Google Benchmark (schema version 1), for tools that read it, such as its
// tools/compare.py: one "iteration" entry a sample with the run's name, then the aggregates. See the format's own
// documentation, "User Guide", and src/json_reporter.cc of github.com/google/benchmark.
//
// Where no CPU time is measured cpu_time, which the format demands, repeats real_time, and the context says so.
// Runs without a time (wrong result, error) are named in the context as "warpmark_failed": compare.py's geometric mean
// takes a time from every entry, so that one without any stops it and the format's own 0 would count as infinitely
// fast.
#pragma once

#include "base/json_fwd.h"
#include "model/run.h"

namespace warpmark::report {

[[nodiscard]] Json google_benchmark_json(const Session& session);

}  // namespace warpmark::report
