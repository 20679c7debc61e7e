// The recordings that the tree keeps, each with one known cause: the first finding is an accepted one, and healthy
// programs are left in peace. How often this is so on others: docs/results/analysis.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"

namespace warpmark::apps {
namespace {

class LabelledProfiles : public Cli, public ::testing::WithParamInterface<const char*> {};

TEST_P(LabelledProfiles, are_diagnosed_as_labelled) {
  const std::string folder = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/" + GetParam() + "/";
  const auto labels = parse_json(*read_file(folder + "labels.json"), "labels.json");
  ASSERT_TRUE(labels.ok()) << labels.error().what;
  ASSERT_FALSE(labels->empty());
  for (const Json& label : *labels) {
    std::vector<std::string> words{"analyze", "--json", path("a.json")};
    for (const Json& file : label["files"]) words.push_back(folder + file.get<std::string>());
    const auto output = warpmark(words);
    ASSERT_EQ(output.exit_code, 0) << label["name"] << output.err;
    const auto analysis = parse_json(*read_file(path("a.json")), "a.json");
    ASSERT_TRUE(analysis.ok());
    const Json& findings = (*analysis)["findings"];
    ASSERT_FALSE(findings.empty()) << label["name"];
    if (label["injected"] == "none") {
      EXPECT_LE(findings[0]["severity"].get<double>(), 0.4) << label["name"];
      continue;
    }
    const auto accepted = label["accept"].get<std::vector<std::string>>();
    EXPECT_THAT(accepted, ::testing::Contains(findings[0]["rule"].get<std::string>())) << label["name"];
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, LabelledProfiles, ::testing::Values("traces", "programs", "tried"));

}  // namespace
}  // namespace warpmark::apps
