// Documents: links resolve, one title each, no line numbers of sources (they are wrong after the next change).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>

#include "house/source_tree.h"

namespace warpmark::house {
namespace {

std::vector<SourceFile> documents() {
  auto files = files_in({"docs", "examples", "bench", "corpus", "fuzz", "suites"}, {".md"});
  for (const char* name : {"README.md", "CHANGELOG.md"}) files.push_back(file_at(name));
  return files;
}

/// Fenced and inline code shows what a person types and holds no links.
std::string without_code(const std::string& markdown) {
  std::string text;
  bool fenced = false;
  for (const auto& line : lines_of(markdown)) {
    const bool fence = line.starts_with("```");
    if (fence) fenced = !fenced;
    text += (fence || fenced || line.starts_with("    ") ? std::string() : line) + "\n";
  }
  return std::regex_replace(text, std::regex("`[^`\n]*`"), "``");
}

/// The anchor that GitHub gives a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

std::set<std::string> anchors_in(const std::string& markdown) {
  std::set<std::string> anchors;
  for (const auto& line : lines_of(markdown)) {
    const auto text = line.find_first_not_of('#');
    if (line.starts_with("#") && text != std::string::npos) anchors.insert(anchor_of(line.substr(text + 1)));
  }
  return anchors;
}

std::vector<std::string> broken_links(const SourceFile& document) {
  static const std::regex link(R"re((\]\(|src="|href=")([^)\s"]+))re");
  const auto folder = std::filesystem::path(document.path).parent_path();
  std::vector<std::string> broken;
  const std::string text = without_code(document.text);
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
    const std::string target = (*it)[2];
    if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
    const auto hash = std::min(target.find('#'), target.size());
    const auto path = hash == 0 ? document.path : (folder / target.substr(0, hash)).lexically_normal().generic_string();
    if (!exists(path)) {
      broken.push_back(document.path + ": " + target);
    } else if (hash < target.size() && !anchors_in(file_at(path).text).contains(target.substr(hash + 1))) {
      broken.push_back(document.path + ": " + target + " names no heading");
    }
  }
  return broken;
}

std::vector<std::string> source_lines_named(const SourceFile& document) {
  static const std::regex line(R"(\.(cpp|h|cu|cuh|cmake|py|sh)(:\d+|#L\d+))");
  std::vector<std::string> found;
  for (std::sregex_iterator it(document.text.begin(), document.text.end(), line), end; it != end; ++it) {
    found.push_back(document.path + ": " + it->str());
  }
  return found;
}

TEST(BrokenLinks, are_found_outside_of_code) {
  EXPECT_EQ(broken_links({"docs/a.md", "[a](nowhere.md) `[b](nowhere.md)` [c](http://example.org/x)"}).size(), 1U);
  EXPECT_EQ(broken_links({"docs/a.md", "<img src=\"images/none.svg\">"}).size(), 1U);
  EXPECT_EQ(broken_links({"docs/a.md", "[a](../README.md#no-such-heading-here)"}).size(), 1U);
  EXPECT_TRUE(broken_links({"docs/a.md", "[a](../README.md)"}).empty());
}

TEST(SourceLinesNamed, are_found) {
  EXPECT_EQ(source_lines_named({"a.md",
                                "see src/a.cpp"
                                ":12 and b.h"
                                "#L3"})
                .size(),
            2U);
  EXPECT_TRUE(source_lines_named({"a.md", "suite.yaml:3: unknown key"}).empty());
}

TEST(Documents, are_found_in_the_index_of_their_folder) {
  const std::string index = file_at("docs/README.md").text;
  for (const auto& document : documents()) {
    const std::filesystem::path path(document.path);
    const bool page = path.parent_path() == "docs" || path.parent_path() == "docs/guides";
    if (!page || path.filename() == "README.md") continue;
    const std::string link = "(" + path.lexically_relative("docs").generic_string() + ")";
    EXPECT_NE(index.find(link), std::string::npos) << document.path << " is not in docs/README.md";
  }
}

TEST(Documents, have_links_that_resolve) {
  for (const auto& document : documents()) {
    for (const auto& link : broken_links(document)) ADD_FAILURE() << "broken link in " << link;
  }
}

TEST(Documents, name_no_source_lines) {
  for (const auto& document : documents()) {
    for (const auto& named : source_lines_named(document)) ADD_FAILURE() << named;
  }
}

TEST(Documents, have_one_title) {
  for (const auto& document : documents()) {
    const auto lines = lines_of(without_code(document.text));
    const auto titles =
        std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("# "); });
    EXPECT_EQ(titles, 1) << document.path;
  }
}

}  // namespace
}  // namespace warpmark::house
