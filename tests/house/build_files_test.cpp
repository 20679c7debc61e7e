// ./dev and packages.txt agree with each other and with what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "house/source_tree.h"

namespace warpmark::house {
namespace {

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

TEST(DevScript, explains_every_verb_on_one_line) {
  const std::string script = file_at("dev").text;
  const auto verbs = matches(script, R"(verb_(\w+)\(\))");
  ASSERT_GE(verbs.size(), 9U);
  for (const auto& verb : verbs) {
    EXPECT_EQ(matches(script, "\n  (" + verb + ")( \\[\\w+\\])?  +[a-z]").size(), 1U) << verb << " in ./dev help";
  }
}

TEST(Packages, have_a_group_that_the_script_installs_and_a_reason) {
  const std::string script = file_at("dev").text;
  std::set<std::string> packages;
  for (const auto& line : lines_of(file_at("packages.txt").text)) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string group, package, reason;
    words >> group >> package;
    std::getline(words, reason);
    EXPECT_TRUE(std::regex_search(script, std::regex("install_packages [^\n]*\\b" + group + "\\b"))) << group;
    EXPECT_GT(reason.size(), 10U) << line;
    EXPECT_TRUE(packages.insert(group + " " + package).second) << package << " is listed twice";
  }
  EXPECT_GE(packages.size(), 10U);
}

TEST(Packages, are_enough_for_every_library_that_cmake_looks_for) {
  const auto found = matches(file_at("cmake/WarpmarkDependencies.cmake").text, R"(find_package\((\w[\w-]*))");
  const std::string packages = file_at("packages.txt").text;
  const std::set<std::string> from_the_compiler{"Threads", "OpenMP"};
  const std::vector<std::pair<std::string, std::string>> package_of{{"fmt", "libfmt-dev"},
                                                                    {"OpenSSL", "libssl-dev"},

                                                                    {"CLI11", "libcli11-dev"},
                                                                    {"yaml-cpp", "libyaml-cpp-dev"},
                                                                    {"SQLite3", "libsqlite3-dev"},
                                                                    {"Boost", "libboost-dev"},
                                                                    {"nlohmann_json", "nlohmann-json3-dev"}};
  for (const auto& name : found) {
    if (from_the_compiler.contains(name)) continue;
    const auto known =
        std::find_if(package_of.begin(), package_of.end(), [&](const auto& p) { return p.first == name; });
    ASSERT_NE(known, package_of.end()) << "say here which package brings " << name;
    EXPECT_NE(packages.find(known->second), std::string::npos) << known->second;
  }
}

}  // namespace
}  // namespace warpmark::house
