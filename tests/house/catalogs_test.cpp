// Every descriptor of a folder is listed in the folder's catalog: one that is not compiles, links and is never seen.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <regex>

#include "house/source_tree.h"

namespace warpmark::house {
namespace {

struct CatalogFolder {
  const char* folder;
  const char* descriptor;   ///< the type of its items
  const char* suffix = "";  ///< what the catalog's list leaves out of their names
  const char* file = "catalog.cpp";
};

constexpr CatalogFolder kCatalogs[] = {
    {"src/device", "Backend"},
    {"src/workloads", "Workload"},
    {"src/report/formats", "Reporter"},
    {"src/profile", "TraceReader"},
    {"src/profile", "Writer"},
    {"src/analyze/rules", "Rule", "", "rules.h"},
    {"src/exchange", "Format", "", "import.cpp"},
    {"src/optimize/knobs", "Knob", "_knob"},
    {"apps/warpmark/mcp/tools", "McpTool", "_tool"},
    {"apps/warpmark", "Command", "_command"},
};

/// Names of the constants of this type that a text defines.
std::vector<std::string> definitions(const std::string& text, const std::string& type) {
  const std::regex pattern(R"((^|\n)\s*(extern\s+|constinit\s+|inline\s+)*(const|constexpr)\s+(\w+::)*)" + type +
                           R"(\s+(\w+)\s*(\{|=|\())");
  std::vector<std::string> names;
  const std::string code = code_only(text);
  for (std::sregex_iterator it(code.begin(), code.end(), pattern), end; it != end; ++it) names.push_back((*it)[5]);
  return names;
}

std::ptrdiff_t mentions(const std::string& text, const std::string& word) {
  const std::regex pattern("\\b" + word + "\\b");
  return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}

TEST(Definitions, are_found_and_references_are_not) {
  const std::string text =
      "extern const Workload copy;\nconst Workload triad = {\nextern constinit const measure::Workload gemm{\n"
      "const Workload* all[] = {";
  EXPECT_EQ(definitions(text, "Workload"), (std::vector<std::string>{"triad", "gemm"}));
}

TEST(Mentions, count_whole_words) { EXPECT_EQ(mentions("&kCopy, kCopyTwo, X(kCopy)", "kCopy"), 2); }

TEST(Catalogs, list_every_descriptor_of_their_folder) {
  for (const auto& [folder, descriptor, suffix, name_of_list] : kCatalogs) {
    const SourceFile catalog = file_at(std::string(folder) + "/" + name_of_list);
    const std::string list = code_only(catalog.text);
    std::size_t found = 0;
    for (const auto& file : files_in({folder}, {".cpp"})) {
      if (file.path.find("/module/") != std::string::npos) continue;
      for (const auto& name : definitions(file.text, descriptor)) {
        ++found;
        const std::string listed = name.ends_with(suffix) ? name.substr(0, name.size() - std::strlen(suffix)) : name;
        const auto needed = file.path == catalog.path ? 2 : 1;  // its definition, then the list
        EXPECT_GE(mentions(list, listed), needed)
            << file.path << " defines " << descriptor << " " << name << ", which " << catalog.path << " does not list";
      }
    }
    EXPECT_GT(found, 0U) << "no " << descriptor << " found in " << folder << ": has its spelling changed?";
  }
}

TEST(FuzzTargets, are_there_for_every_reader_of_profiles) {
  std::string targets;
  for (const auto& file : files_in({"fuzz"}, {".cpp", ".txt"})) targets += file.text;
  const std::regex pattern(R"re(TraceReader\s+k\w+\s*=\s*\{\s*"(\w+)")re");
  std::size_t found = 0;
  for (const auto& file : files_in({"src/profile"}, {".cpp"})) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), pattern), end; it != end; ++it, ++found) {
      EXPECT_GT(mentions(targets, (*it)[1]), 0) << (*it)[1] << " of " << file.path << " has no target in fuzz/";
    }
  }
  EXPECT_GT(found, 10U) << "has the spelling of readers changed?";
}

}  // namespace
}  // namespace warpmark::house
