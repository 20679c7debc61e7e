// The schema of an analysis is that of its tables, with the rules, and the kinds of findings, that the catalog has.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/rules/rules.h"
#include "base/json.h"
#include "model/json/json_parts.h"
#include "support/golden.h"

namespace warpmark::analyze {
namespace {

Json without_repeats(const std::vector<std::string>& all) {
  Json list = Json::array();
  for (const std::string& one : all) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
  return list;
}

TEST(AnalysisSchema, names_the_rules_of_the_catalog) {
  Json schema = schema_of(kAnalysis);
  std::vector<std::string> ids, kinds;
  for (const Rule* rule : rules()) {
    ids.emplace_back(rule->id);
    kinds.emplace_back(rule->kind);
  }
  Json& finding = schema["definitions"]["finding"]["properties"];
  finding["rule"] = {{"enum", without_repeats(ids)}};
  finding["kind"] = {{"enum", without_repeats(kinds)}};
  testing_support::expect_golden("../docs/schema/analysis.schema.json", schema_text(schema));
}

}  // namespace
}  // namespace warpmark::analyze
