// A format in which tools keep results: how to know it, read it and write it. One descriptor and one file a format.
//
// Formats are told apart by what a file holds, never by its name. What a reader makes of a file are Sessions: name of
// the tool, commit and date where the file has them, and every single sample that it has. Units become SI.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/catalog.h"
#include "base/json.h"
#include "base/result.h"
#include "model/run.h"

namespace warpmark::exchange {

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

/// Ids of the formats that can be read, or written.
[[nodiscard]] std::vector<std::string> readable_formats();
[[nodiscard]] std::vector<std::string> writable_formats();

}  // namespace warpmark::exchange
