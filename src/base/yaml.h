// Reading configuration files in YAML (by yaml-cpp) with the habits that all of them keep: every complaint names the
// file and the line, an unknown key is an error with a suggestion, and a value that does not fit says what would.
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// Readers of one file's nodes. `file` is the name in errors and outlives this; all errors are data errors.
class YamlReader {
 public:
  explicit YamlReader(std::string_view file) : file_(file) {}

  [[nodiscard]] std::string_view file() const { return file_; }
  /// "FILE line N: WHAT".
  [[nodiscard]] Error error(const YAML::Node& at, const std::string& what, std::string hint = {}) const;
  /// The error of a value that could not be parsed, with the place and the key's name in front.
  template <typename T>
  [[nodiscard]] Result<T> located(const YAML::Node& at, const std::string& name, const Result<T>& value) const {
    if (!value.ok()) return error(at, name + ": " + value.error().what, value.error().hint);
    return value;
  }

  [[nodiscard]] Status only_keys(const YAML::Node& map, const std::vector<std::string>& allowed) const;
  /// YAML forbids a key that is there twice, yaml-cpp takes one of them.
  [[nodiscard]] Status no_key_twice(const YAML::Node& map) const;
  /// Accepts an absent "schema" and the given one.
  [[nodiscard]] Status schema(const YAML::Node& root, std::string_view expected) const;

  [[nodiscard]] Result<std::string> scalar(const YAML::Node& node, const std::string& name) const;
  [[nodiscard]] Result<bool> flag(const YAML::Node& node, const std::string& name) const;
  [[nodiscard]] Result<double> number(const YAML::Node& node, const std::string& name) const;
  /// A whole number from `least` to `most`.
  [[nodiscard]] Result<std::int64_t> count(const YAML::Node& node, const std::string& name, std::int64_t least,
                                           std::int64_t most) const;
  /// Above 0: "60s", "500ms".
  [[nodiscard]] Result<double> duration_s(const YAML::Node& node, const std::string& name) const;
  /// Above 0: "5%", "0.05".
  [[nodiscard]] Result<double> ratio(const YAML::Node& node, const std::string& name) const;
  /// One of the words; the error lists them.
  [[nodiscard]] Result<std::string> one_of(const YAML::Node& node, const std::string& name,
                                           const std::vector<std::string>& words) const;
  /// A list of single values, or one value alone.
  [[nodiscard]] Result<std::vector<std::string>> texts(const YAML::Node& node, const std::string& name) const;
  /// A map of single values such as {m: 1024}, in the file's order.
  [[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> pairs(const YAML::Node& map,
                                                                               const std::string& name) const;

  /// Reads the value of a key with one of these. `into` stays as it is where the key is absent.
  template <typename Into, typename Reader, typename Value, typename... Bounds>
  [[nodiscard]] Status maybe(const YAML::Node& map, const char* key, Into& into,
                             Result<Value> (Reader::*read)(const YAML::Node&, const std::string&, Bounds...) const,
                             std::type_identity_t<Bounds>... bounds) const {
    const YAML::Node node = map[key];
    if (!node) return {};
    WM_ASSIGN(auto value, (static_cast<const Reader*>(this)->*read)(node, key, bounds...));
    into = static_cast<Into>(std::move(value));
    return {};
  }
  [[nodiscard]] Status maybe(const YAML::Node& map, const char* key, std::string& into) const {
    return maybe(map, key, into, &YamlReader::scalar);
  }
  [[nodiscard]] Status maybe(const YAML::Node& map, const char* key, bool& into) const {
    return maybe(map, key, into, &YamlReader::flag);
  }
  [[nodiscard]] Status maybe(const YAML::Node& map, const char* key, std::vector<std::string>& into) const {
    return maybe(map, key, into, &YamlReader::texts);
  }
  [[nodiscard]] Status maybe(const YAML::Node& map, const char* key,
                             std::vector<std::pair<std::string, std::string>>& into) const {
    return maybe(map, key, into, &YamlReader::pairs);
  }

 private:
  std::string_view file_;
};

/// Largest configuration file that is read, and the most keys, values, lists and maps in it, those that aliases repeat
/// counted each time: some 50 times what the largest of our own has, and 20 MB of memory.
inline constexpr std::int64_t kLargestYamlBytes = 256 << 10;
inline constexpr std::size_t kMostYamlValues = 20'000;

/// The only document of the text; null if it is empty. Data error for several, one above the limits, and an alias
/// inside of what it names. Throws what yaml-cpp throws.
[[nodiscard]] Result<YAML::Node> only_document(const std::string& text, std::string_view file);

/// Parses the text and calls `read` with the root; yaml-cpp's exceptions become data errors with the line.
template <typename Read>
auto read_yaml(std::string_view text, std::string_view file, Read&& read) -> decltype(read(YAML::Node())) {
  try {
    WM_ASSIGN(const YAML::Node root, only_document(std::string(text), file));
    return read(root);
  } catch (const YAML::Exception& exception) {
    return data_error(fmt::format("{} line {}: {}", file, exception.mark.line + 1, exception.msg),
                      exception.msg.find("escape") != std::string::npos
                          ? "in double quotes a backslash begins an escape: write a regex in single quotes"
                          : "the file must be valid YAML");
  }
}

}  // namespace warpmark
