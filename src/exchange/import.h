// Files of results as sessions that can be stored: which format it is, who measured, and an identity by which the same
// results are recognized however often they are imported.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/catalog.h"
#include "base/json.h"
#include "base/result.h"
#include "model/run.h"

namespace warpmark::exchange {

// A format in which tools keep results: how to know it, read it and write it. One descriptor and one file a format.
//
// Formats are told apart by what a file holds, never by its name. What a reader makes of a file are Sessions: name of
// the tool, commit and date where the file has them, and every single sample that it has. Units become SI.

struct Document {
  std::string name;               ///< of the file, for messages
  std::string_view text;          ///< all of it
  std::optional<Json> json;       ///< parsed, if it is JSON
  std::optional<Error> not_json;  ///< why text that looks like JSON is none; formats of text may still know it
  std::string collective;         ///< of tables of nccl-tests that do not name it; empty: unknown
  std::filesystem::path folder;   ///< where files lie that the document names; empty: they are not looked for
};

struct Exported {
  std::string text;
  std::vector<std::string> left_out;  ///< what the format has no place for, a sentence each
};

/// Pure functions, any thread. A function that a format does not have is nullptr.
struct Format {
  const char* id;       ///< as the tool calls it: "hyperfine", "customSmallerIsBetter", ...
  const char* summary;  ///< one line
  bool (*detect)(const Document& document);
  /// Data error that names the place of what is wrong. Sessions have neither an id nor a fingerprint yet.
  Result<std::vector<Session>> (*read)(const Document& document);
  /// Usage error if the session has nothing that the format can hold.
  Result<Exported> (*write)(const Session& session) = nullptr;
  bool is_fallback = false;           ///< of a form that others share: taken where no other fits
  const char* more_rounds = nullptr;  ///< how the tool measures more, so that a comparison is decided
};

[[nodiscard]] Catalog<Format> formats();

/// A hint that names the command that lists them.
inline constexpr const char* kFormatsHint = "`warpmark list formats` shows the formats";

/// Ids of the formats that can be read, or written.
[[nodiscard]] std::vector<std::string> readable_formats();
[[nodiscard]] std::vector<std::string> writable_formats();

/// Usage error if nothing was written; else the text, and how many runs were left out for want of `needed` ("a time").
[[nodiscard]] Result<Exported> exported(std::string text, std::size_t written, std::size_t left_out,
                                        const std::string& needed);
/// The same, and which metrics of the runs the format does not hold.
[[nodiscard]] Result<Exported> without_other_metrics(Result<Exported> result, const Session& session,
                                                     bool (*holds)(const Metric& metric));
[[nodiscard]] Result<Exported> exported_json(const Json& json, std::size_t written, std::size_t left_out,
                                             const std::string& needed);

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
