#include <algorithm>
#include <regex>
#include <sstream>

#include "house/rules.h"

namespace warpmark::house {
namespace {

const std::set<std::string> kPureFolders{"stats", "accuracy", "analyze", "report"};
const std::set<std::string> kImpureFolders{"device", "measure"};

/// Includes of our own headers, with their line.
std::vector<std::pair<std::size_t, std::string>> quoted_includes(const SourceFile& file) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::vector<std::pair<std::size_t, std::string>> includes;
  std::size_t number = 0;
  for (const auto& line : lines_of(file.text)) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, include)) includes.emplace_back(number, match[1]);
  }
  return includes;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

/// "names" for "analyze/names/words.h" within analyze; empty for a file of the folder itself.
std::string room_of(const std::string& path_from_src, const std::string& folder) {
  const std::string within = path_from_src.substr(folder.size() + 1);
  return within.find('/') == std::string::npos ? "" : first_folder(within);
}

/// The names of a row "    3  measure  profile -- prose".
std::vector<std::string> names_of_row(const std::string& row) {
  std::vector<std::string> names;
  std::istringstream words(row);
  for (std::string name; words >> name && name != "--";) names.push_back(name);
  return names;
}

const std::regex kRow(R"(^    (\d+)  +(.+)$)");

}  // namespace

Layers parse_layers(std::string_view markdown) {
  Layers layers;
  bool inside = false;
  for (const auto& line : lines_of(markdown)) {
    if (line.starts_with("#")) inside = line == "## Layers";
    std::smatch match;
    if (!inside || !std::regex_match(line, match, kRow)) continue;
    for (const std::string& name : names_of_row(match[2])) layers[name] = std::stoi(match[1]);
  }
  return layers;
}

std::string layer_folder(const std::string& path) {
  if (path.starts_with("apps/")) return "apps";
  if (!path.starts_with("src/")) return "";
  const auto end = path.find('/', 4);
  return end == std::string::npos ? "" : path.substr(4, end - 4);
}

std::set<std::string> allowed_folders(const Layers& layers, const std::string& folder) {
  std::set<std::string> allowed{folder};
  const auto own = layers.find(folder);
  if (own == layers.end()) return allowed;
  for (const auto& [name, row] : layers) {
    if (row >= own->second) continue;
    if (kPureFolders.contains(folder) && kImpureFolders.contains(name)) continue;
    allowed.insert(name);
  }
  return allowed;
}

std::set<std::string> included_folders(const SourceFile& file, const Layers& layers) {
  std::set<std::string> folders;
  for (const auto& [line, include] : quoted_includes(file)) {
    if (layers.contains(first_folder(include))) folders.insert(first_folder(include));
  }
  return folders;
}

Violations check_layers(const SourceFile& file, const Layers& layers) {
  Violations violations;
  const auto folder = layer_folder(file.path);
  const auto report = [&](std::size_t line, const std::string& what) {
    violations.push_back(file.path + ":" + std::to_string(line) + ": " + what);
  };
  if (!layers.contains(folder)) {
    report(1, "folder '" + folder + "' is not in the layer table of docs/ARCHITECTURE.md");
    return violations;
  }
  const auto allowed = allowed_folders(layers, folder);
  for (const auto& [line, include] : quoted_includes(file)) {
    const auto target = first_folder(include);
    if (target == "generated") continue;
    if (target == "warpmark" && exists("include/" + include)) continue;  // the public plugin header stands below all
    if (target == "warpmark" && folder == "apps") continue;
    if (!layers.contains(target)) {
      report(line, "include \"" + include + "\" by its path from src/, as in \"base/result.h\"");
    } else if (!allowed.contains(target)) {
      report(line, folder + " must not include " + target + ", which is not below it in the layer table");
    }
  }
  return violations;
}

Rooms parse_rooms(std::string_view markdown) {
  Rooms rooms;
  bool inside = false;
  std::string folder;
  for (const auto& line : lines_of(markdown)) {
    if (line.starts_with("## ")) inside = line == "## Rooms";
    if (line.starts_with("### ")) folder = line.substr(4);
    std::smatch match;
    if (!inside || folder.empty() || !std::regex_match(line, match, kRow)) continue;
    for (const std::string& name : names_of_row(match[2])) rooms[folder][name] = std::stoi(match[1]);
  }
  return rooms;
}

Violations check_rooms(const SourceFile& file, const Rooms& rooms) {
  Violations violations;
  const auto folder = layer_folder(file.path);
  const auto table = rooms.find(folder);
  if (table == rooms.end() || !file.path.starts_with("src/")) return violations;
  const auto own = room_of(file.path.substr(4), folder);
  const auto report = [&](std::size_t line, const std::string& what) {
    violations.push_back(file.path + ":" + std::to_string(line) + ": " + what);
  };
  const auto row_of = [&](const std::string& room) {
    const auto row = table->second.find(room);
    return row == table->second.end() ? -1 : row->second;
  };
  if (own.empty()) return violations;
  if (row_of(own) < 0) report(1, "room '" + own + "' is not among the rooms of " + folder + " in docs/ARCHITECTURE.md");
  for (const auto& [line, include] : quoted_includes(file)) {
    if (first_folder(include) != folder) continue;
    const auto target = room_of(include, folder);
    if (target == own || (!target.empty() && row_of(target) < row_of(own))) continue;
    report(line, own + " must not include " + (target.empty() ? include : target) + ", which is not below it");
  }
  return violations;
}

Violations check_text_matching(const SourceFile& file) {
  static const std::regex matches(
      R"re(\bcontains_any\(|\bholds_any\(|"aten::|(starts|ends)_with\("[^"]*"\)|\.find\(")re");
  Violations violations;
  if (!file.path.starts_with("src/analyze/") || file.path.starts_with("src/analyze/names/")) return violations;
  std::size_t number = 0;
  for (const auto& line : lines_of(file.text)) {
    ++number;
    const std::string code = line.substr(0, line.find("//"));
    if (std::regex_search(code, matches)) {
      violations.push_back(file.path + ":" + std::to_string(number) +
                           ": matches text; what a name means is told in src/analyze/names/");
    }
  }
  return violations;
}

std::map<std::string, std::set<std::string>> parse_link_lines(std::string_view cmake) {
  static const std::regex call(R"(warpmark_folder\(([^)]*)\))");
  std::map<std::string, std::set<std::string>> folders;
  std::string text(cmake);
  // CMake variables carry braces but no parentheses, so a call ends at its first ')'.
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    std::istringstream words((*it)[1].str());
    std::string name, word, section;
    words >> name;
    auto& linked = folders[name];
    while (words >> word) {
      if (word == "FOLDERS" || word == "LIBRARIES") {
        section = word;
      } else if (section == "FOLDERS") {
        linked.insert(word);
      }
    }
  }
  return folders;
}

}  // namespace warpmark::house
