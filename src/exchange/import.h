// Files of results as sessions that can be stored: which format it is, who measured, and an identity by which the same
// results are recognized however often they are imported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/format.h"

namespace warpmark::exchange {

/// The note of each imported run that names its tool.
inline constexpr const char* kMeasuredBy = "measured by";

/// The note of a run whose rounds are all of one process: what differs between processes is not in them.
inline constexpr const char* kOneProcess = "of one process";

/// What a person says of a file, for what it does not say itself. Empty: as the file has it.
struct ImportOptions {
  std::string format;  ///< id; empty: by the content
  std::string commit;
  std::string branch;
  std::string started;                 ///< ISO 8601
  std::string machine;                 ///< a name for the machine
  std::string collective;              ///< of nccl-tests' tables that do not name theirs
  std::optional<Machine> measured_on;  ///< the machine itself, where the person knows that it is this one
  /// Whether more is better, for names (globs) that do not say it; the last that matches counts.
  std::vector<std::pair<std::string, Better>> better;
  std::string fallback_started;  ///< UTC; for files that name no date, when `started` is empty too
};

/// Usage error where several formats fit, or `format` is none; data error that says what the text looks like where it
/// is no known format, and names the place where it is damaged.
///
/// Sessions of warpmark keep id, machine and fingerprint. All others get
///   id           "<format>-<16 digits>" over tool, date, commit, branch, machine, names and samples, but not over
///                the file's name: the same results have the same id
///   fingerprint  "imported-<16 digits>" over what the file says of the machine, which no machine has that measures by
///                itself, so that they are never compared with its results; kUnknownMachine if it says nothing
[[nodiscard]] Result<std::vector<Session>> import_results(const Document& document, const ImportOptions& options);

/// A document over `text`, which must outlive it; parses JSON, also JSON lines (an array then) and the NaN and Infinity
/// that Python and C++ write into it (null then). JSON that is cut off or damaged is known by `not_json`.
[[nodiscard]] Result<Document> open_document(std::string name, std::string_view text);

}  // namespace warpmark::exchange
