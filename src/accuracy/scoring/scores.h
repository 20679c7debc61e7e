// Scores: what `eval score` says of each system, with everything needed to trust and repeat it. JSON:
// "warpmark.scores/1" (docs/schema/scores.schema.json). Each score can be kept as a Run, so that history, trend and
// check follow it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/scoring/metric.h"
#include "accuracy/significance/intervals.h"
#include "base/json_fwd.h"
#include "model/run.h"

namespace warpmark::accuracy {

inline constexpr const char* kScoresSchema = "warpmark.scores/1";

/// What was answered.
struct DatasetFacts {
  std::string name;
  std::string version;
  std::string split;
  std::string sha256;  ///< of the reference files, one after another
};

/// Who answered.
struct ModelFacts {
  std::string model;
  std::string version;
};

struct SubjectScore {
  std::string subject;
  double value = 0;
  ScoreInterval interval;
  std::int64_t n = 0;
};

struct Score {
  std::string system;
  std::string metric;
  double value = 0;       ///< NaN where undefined
  std::string undefined;  ///< why; empty where there is a value
  std::string warning;    ///< why the value may not mean what is asked
  ScoreInterval interval;
  double confidence = 0.95;
  std::int64_t n = 0;
  std::int64_t groups = 0;      ///< independent groups of examples, where they are fewer than n; else 0
  std::int64_t unanswered = 0;  ///< examples without a usable answer, which count as wrong
  std::string signature;
  Better better = Better::higher;
  std::int64_t resamples = 0;  ///< 0 where the interval needed none
  std::uint64_t seed = 0;
  DatasetFacts dataset;
  ModelFacts model;
  std::vector<SubjectScore> by;
};

struct ScoreOptions {
  ResampleOptions resample;
  bool by_subject = false;
  DatasetFacts dataset;
  ModelFacts model;
};

/// One score for each metric and system, metric by metric. Data error where a metric lacks what it needs.
[[nodiscard]] Result<std::vector<Score>> score_systems(const Examples& examples,
                                                       const std::vector<NamedMetric>& metrics,
                                                       const ScoreOptions& options);

/// The groups that examples name; single examples where they name none.
[[nodiscard]] Groups groups_of(const Examples& examples);

/// Why answers of a system could not be used, with how often, the most frequent first: "there is no answer (3)".
[[nodiscard]] std::vector<std::string> problems_of(const Examples& examples, std::size_t system);

[[nodiscard]] Json to_json(const std::vector<Score>& scores);

/// As a Run: workload "eval", one metric with one sample.
[[nodiscard]] Run run_of(const Score& score);

}  // namespace warpmark::accuracy
