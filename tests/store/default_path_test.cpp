#include <gtest/gtest.h>

#include <map>

#include "store/store.h"

namespace warpmark::store {
namespace {

Result<std::filesystem::path> path_with(const std::map<std::string, std::string>& variables) {
  return default_store_path([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(DefaultStorePath, takes_the_most_specific_variable) {
  EXPECT_EQ(path_with({{"WARPMARK_DB", "my.db"}, {"XDG_DATA_HOME", "/data"}, {"HOME", "/home/a"}}).value(), "my.db");
  EXPECT_EQ(path_with({{"XDG_DATA_HOME", "/data"}, {"HOME", "/home/a"}}).value(), "/data/warpmark/warpmark.db");
  EXPECT_EQ(path_with({{"HOME", "/home/a"}}).value(), "/home/a/.local/share/warpmark/warpmark.db");
}

TEST(DefaultStorePath, ignores_empty_and_relative_variables) {
  EXPECT_EQ(path_with({{"WARPMARK_DB", ""}, {"XDG_DATA_HOME", "data"}, {"HOME", "/h"}}).value(),
            "/h/.local/share/warpmark/warpmark.db");
}

TEST(DefaultStorePath, says_how_to_name_one_without_a_home) {
  const auto path = path_with({});
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().kind, ErrorKind::environment);
  EXPECT_NE(path.error().hint.find("WARPMARK_DB"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::store
