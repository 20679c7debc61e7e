// The schema of an analysis names the rules, and the kinds of findings, that the catalog has. WARPMARK_UPDATE=1 writes
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/rules/rules.h"
#include "base/files.h"
#include "base/json.h"
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
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/docs/schema/analysis.schema.json");
  ASSERT_TRUE(text.ok());
  auto schema = parse_json(*text, "analysis.schema.json");
  ASSERT_TRUE(schema.ok()) << schema.error().what;
  std::vector<std::string> ids, kinds;
  for (const Rule* rule : rules()) {
    ids.emplace_back(rule->id);
    kinds.emplace_back(rule->kind);
  }
  Json& finding = (*schema)["definitions"]["finding"]["properties"];
  finding["rule"] = {{"enum", without_repeats(ids)}};
  finding["kind"] = {{"enum", without_repeats(kinds)}};
  testing_support::expect_golden("../docs/schema/analysis.schema.json", schema->dump(2) + "\n");
}

}  // namespace
}  // namespace warpmark::analyze
