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

}  // namespace

Layers parse_layers(std::string_view markdown) {
  static const std::regex row(R"(^    (\d)  +(.+)$)");
  Layers layers;
  bool inside = false;
  for (const auto& line : lines_of(markdown)) {
    if (line.starts_with("#")) inside = line == "## Layers";
    std::smatch match;
    if (!inside || !std::regex_match(line, match, row)) continue;
    std::istringstream names(match[2].str());
    for (std::string name; names >> name;) {
      if (name == "--") break;  // the rest of the row is prose
      layers[name] = std::stoi(match[1]);
    }
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
