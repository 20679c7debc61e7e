// One version: of the build, of the executable, of the newest section of the changelog. The distribution's name is made
// of the build's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "base/subprocess.h"
#include "house/source_tree.h"

namespace warpmark::house {
namespace {

std::string first_match(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

TEST(Version, is_the_same_in_the_build_the_executable_and_the_changelog) {
  const std::string version = first_match(file_at("CMakeLists.txt").text, R"(project\(warpmark VERSION ([0-9.]+))");
  ASSERT_FALSE(version.empty());
  EXPECT_EQ(first_match(file_at("CHANGELOG.md").text, R"(\n## ([0-9.]+))"), version);
  const auto said = run_process({std::string(WARPMARK_BINARY_DIR) + "/warpmark", "--version"}, {.deadline_s = 30});
  ASSERT_TRUE(said.ok()) << said.error().what;
  EXPECT_EQ(first_match(said->out, "warpmark ([0-9.]+) "), version);
  EXPECT_THAT(file_at("cmake/make_dist.sh").text, ::testing::HasSubstr("CMAKE_PROJECT_VERSION"));
}

}  // namespace
}  // namespace warpmark::house
