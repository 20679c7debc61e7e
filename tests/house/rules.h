// The rules of the house as pure functions from a text to what is wrong with it: "path:line: what; what to do instead".
// Each rule's reason is in docs/HACKING.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "house/source_tree.h"

namespace warpmark::house {

using Violations = std::vector<std::string>;

/// The layer table of docs/ARCHITECTURE.md: folder -> row. A folder includes folders of lower rows and itself.
using Layers = std::map<std::string, int>;

/// Reads the indented rows "    3  measure  profile" that follow the heading "## Layers".
[[nodiscard]] Layers parse_layers(std::string_view markdown);

/// "measure" for src/measure/..., "apps" for apps/...; empty for other paths.
[[nodiscard]] std::string layer_folder(const std::string& path);

/// Folders that `folder` may include, with the extra bans: stats, accuracy, analyze and report never see a device.
[[nodiscard]] std::set<std::string> allowed_folders(const Layers& layers, const std::string& folder);

/// The folders of src/ that a file includes; `known` decides whether "x/..." is a folder of ours.
[[nodiscard]] std::set<std::string> included_folders(const SourceFile& file, const Layers& layers);

[[nodiscard]] Violations check_layers(const SourceFile& file, const Layers& layers);

/// The rooms of a folder of src/: the same table within the folder, room -> row.
using Rooms = std::map<std::string, Layers>;

/// Reads the rows under each heading "### analyze" that follows the heading "## Rooms".
[[nodiscard]] Rooms parse_rooms(std::string_view markdown);

/// A room includes rooms of lower rows and itself. What stands in the folder and in no room may include every room, and
/// no room includes it. Of folders without rooms nothing is asked.
[[nodiscard]] Violations check_rooms(const SourceFile& file, const Rooms& rooms);

/// In the analysis one room alone tells what a name means: the others call its functions.
[[nodiscard]] Violations check_text_matching(const SourceFile& file);

/// One warpmark_folder(...) call of CMakeLists.txt: name -> FOLDERS.
[[nodiscard]] std::map<std::string, std::set<std::string>> parse_link_lines(std::string_view cmake);

[[nodiscard]] Violations check_lengths(const SourceFile& file);
[[nodiscard]] Violations check_function_lengths(const SourceFile& file);
[[nodiscard]] Violations check_banned_code(const SourceFile& file);
[[nodiscard]] Violations check_banned_text(const SourceFile& file);
/// In what a program says: help, errors, findings, reports.
[[nodiscard]] Violations check_banned_sentences(const SourceFile& file);
[[nodiscard]] Violations check_header_opening(const SourceFile& file);

}  // namespace warpmark::house
