#include "exchange/looks_like.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "exchange/imported.h"

namespace warpmark::exchange {
namespace {

constexpr std::size_t kShownKeys = 5;
constexpr std::size_t kShownLetters = 40;

std::string shortened(std::string_view text) {
  const std::string clean = clean_text(text.substr(0, kShownLetters));
  return text.size() > kShownLetters ? clean + "..." : clean;
}

std::string keys_of(const Json& object) {
  std::string keys;
  std::size_t count = 0;
  for (const auto& [key, value] : object.items()) {
    if (count++ == kShownKeys) return keys + ", ...";
    keys += (keys.empty() ? "'" : ", '") + shortened(key) + "'";
  }
  return keys;
}

/// Relatives whose marks are certain, though they are not read.
std::string relative(const Json& json) {
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
  if (has("schema") && json["schema"].is_string() && json["schema"].get<std::string>().starts_with("warpmark.")) {
    return "a warpmark document of the schema " + shortened(json["schema"].get<std::string>()) +
           ", which holds no results of runs";
  }
  if (has("traceEvents")) return "a profile; 'warpmark analyze' reads it";
  if (has("HostEnvironmentInfo") && has("Benchmarks")) return "JSON of BenchmarkDotNet";
  return {};
}

std::string json_looks_like(const Json& json) {
  if (const auto known = relative(json); !known.empty()) return known;
  if (json.is_object()) return json.empty() ? "an empty JSON object" : "JSON with the keys " + keys_of(json);
  if (!json.is_array()) return std::string("JSON that is only a ") + json.type_name();
  if (json.empty()) return "an empty JSON array";
  if (json[0].is_object()) return "a JSON array of objects with the keys " + keys_of(json[0]);
  return std::string("a JSON array of the type ") + json[0].type_name();
}

}  // namespace

std::string looks_like(const Document& document) {
  if (document.json) return json_looks_like(*document.json);
  const std::string_view text = document.text;
  if (trim(text).empty()) return "empty";
  if (text.starts_with("SQLite format 3")) return "a SQLite database";
  if (text.starts_with("\x1F\x8B") || text.starts_with("\x28\xB5\x2F\xFD") || text.starts_with("PK\x03\x04")) {
    return "a compressed file; unpack it first";
  }
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) return "a binary file";
  if (text.starts_with("<?xml") || text.starts_with("<testsuite")) return "XML, which is written but not read";
  if (trim(text).starts_with("<")) return "a page of HTML or XML";
  return "text that begins with '" + shortened(trim(text).substr(0, trim(text).find('\n'))) + "'";
}

}  // namespace warpmark::exchange
