// The whole tree obeys the rules.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "house/rules.h"

namespace warpmark::house {
namespace {

std::string listed(const Violations& violations) {
  std::string text;
  for (const auto& violation : violations) text += "\n  " + violation;
  return text;
}

template <typename Check>
void expect_obeyed(const std::vector<SourceFile>& files, Check check) {
  ASSERT_FALSE(files.empty());
  Violations violations;
  for (const auto& file : files) {
    const Violations found = check(file);
    violations.insert(violations.end(), found.begin(), found.end());
  }
  EXPECT_TRUE(violations.empty()) << violations.size() << " violations:" << listed(violations);
}

Layers layers() { return parse_layers(file_at("docs/ARCHITECTURE.md").text); }

TEST(Tree, includes_only_downwards) {
  std::vector<SourceFile> files;
  for (auto& file : product_sources()) {
    if (!file.path.starts_with("include/")) files.push_back(std::move(file));
  }
  expect_obeyed(files, [table = layers()](const auto& file) { return check_layers(file, table); });
}

TEST(Tree, includes_only_rooms_below) {
  const auto rooms = parse_rooms(file_at("docs/ARCHITECTURE.md").text);
  ASSERT_FALSE(rooms.empty());
  for (const auto& [folder, table] : rooms) {
    for (const auto& [room, row] : table) {
      EXPECT_TRUE(exists("src/" + folder + "/" + room)) << room << " is a room of " << folder << " and not in src/";
    }
  }
  expect_obeyed(product_sources(), [&rooms](const auto& file) { return check_rooms(file, rooms); });
}

TEST(Tree, tells_what_names_mean_in_one_room) { expect_obeyed(product_sources(), check_text_matching); }

TEST(Tree, keeps_no_folder_crowded) {
  constexpr std::size_t kMost = 30;
  std::map<std::string, std::size_t> files;
  for (const auto& file : product_sources()) ++files[file.path.substr(0, file.path.rfind('/'))];
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kMost) << folder << ": sort its files into rooms";
  }
}

TEST(Tree, links_what_it_includes_and_nothing_beside_or_above) {
  const auto table = layers();
  auto links = parse_link_lines(file_at("CMakeLists.txt").text);
  for (const auto& [folder, linked] : links) {
    const auto allowed = allowed_folders(table, folder);
    for (const auto& other : linked) EXPECT_TRUE(allowed.contains(other)) << folder << " links " << other;
  }
  for (const auto& file : product_sources()) {
    const auto folder = layer_folder(file.path);
    if (!links.contains(folder)) continue;
    for (const auto& included : included_folders(file, table)) {
      EXPECT_TRUE(included == folder || links.at(folder).contains(included))
          << file.path << " includes " << included << ", which warpmark_folder(" << folder << ") does not link";
    }
  }
}

TEST(Tree, has_a_layer_and_a_library_for_every_folder) {
  const auto table = layers();
  const auto links = parse_link_lines(file_at("CMakeLists.txt").text);
  for (const auto& [folder, row] : table) {
    if (folder == "apps") continue;
    EXPECT_TRUE(exists("src/" + folder)) << folder << " is in the layer table and not in src/";
    EXPECT_TRUE(links.contains(folder)) << folder << " has no warpmark_folder() line";
  }
  for (const auto& [folder, linked] : links) EXPECT_TRUE(table.contains(folder)) << folder << " has no layer";
}

TEST(Tree, keeps_files_and_lines_short) { expect_obeyed(all_sources(), check_lengths); }

TEST(Tree, keeps_functions_short) { expect_obeyed(all_sources(), check_function_lengths); }

TEST(Tree, uses_no_banned_code) { expect_obeyed(all_sources(), check_banned_code); }

TEST(Tree, holds_no_debts_and_no_local_paths) { expect_obeyed(all_texts(), check_banned_text); }

TEST(Tree, speaks_the_language_of_the_field) { expect_obeyed(product_sources(), check_banned_sentences); }

TEST(Tree, opens_headers_with_what_they_are) {
  expect_obeyed(files_in({"src", "apps", "include", "tests"}, {".h", ".cuh"}), check_header_opening);
}

TEST(Tree, has_no_file_named_by_a_word_that_says_nothing) {
  const std::regex words("(^|[/_])(manager|helpers?|utils?|impl|misc|common)([/_.])");
  for (const auto& file : all_sources()) {
    EXPECT_FALSE(std::regex_search(file.path, words)) << file.path << ": name the file by what it holds";
  }
}

}  // namespace
}  // namespace warpmark::house
