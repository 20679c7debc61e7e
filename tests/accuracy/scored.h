// A metric by its name, from records to its value: the way of `eval score`.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "accuracy/scoring/scores.h"

namespace warpmark::accuracy {

/// Of texts of JSON lines: the references, and the answers of each system.
inline Examples examples_from(const std::string& references, const std::vector<std::string>& outputs,
                              const FieldNames& names = {}) {
  std::vector<SystemRecords> systems;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto records = parse_records(outputs[i], "out.jsonl", Side::output, names);
    EXPECT_TRUE(records.ok()) << records.error().what;
    systems.push_back({"s" + std::to_string(i), "out.jsonl", *records});
  }
  auto gold = parse_records(references, "ref.jsonl", Side::reference, names);
  EXPECT_TRUE(gold.ok()) << gold.error().what;
  auto joined = join_examples({*gold}, std::move(systems), names);
  EXPECT_TRUE(joined.ok()) << joined.error().what;
  return joined.ok() ? *joined : Examples{};
}

inline Measured measured_by_name(const std::string& metric, const Examples& examples,
                                 const ScoreSettings& settings = {}) {
  const auto named = metrics_named({metric}, settings);
  EXPECT_TRUE(named.ok()) << named.error().what;
  auto measured = measure(named->front(), examples);
  EXPECT_TRUE(measured.ok()) << metric << ": " << measured.error().what;
  return measured.ok() ? std::move(*measured) : Measured{};
}

inline double scored(const std::string& metric, const Examples& examples, const ScoreSettings& settings = {}) {
  const auto measured = measured_by_name(metric, examples, settings);
  return measured.systems > 0 ? value_of(measured, 0) : -1;
}

/// Why it cannot be measured; empty where it can.
inline std::string said_of(const std::string& metric, const Examples& examples, const ScoreSettings& settings = {}) {
  const auto named = metrics_named({metric}, settings);
  const auto measured = measure(named->front(), examples);
  return measured.ok() ? "" : measured.error().what;
}

}  // namespace warpmark::accuracy
