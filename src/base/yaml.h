// Reading configuration files in YAML with the habits that all of them keep: every error names the file and the line,
// an unknown key is an error with a suggestion, and a value that does not fit says what would. yaml_keys.h declares the
// keys of a map.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/yaml_node.h"

namespace warpmark {

struct YamlKey;
/// A map of single values such as {m: 1024}, in the file's order.
using YamlPairs = std::vector<std::pair<std::string, std::string>>;

/// Largest configuration file that is read, and the most keys, values, lists and maps in it, those that aliases repeat
/// counted each time: some 50 times what the largest of our own has.
inline constexpr std::int64_t kLargestYamlBytes = 256 << 10;
inline constexpr std::size_t kMostYamlValues = 20'000;

/// The only document of the text; null if it is empty. Data error for what is not YAML, for several documents, one
/// above the limits, and an alias inside of what it names.
[[nodiscard]] Result<YamlNode> read_yaml(std::string_view text, std::string_view file);

/// Readers of one file's nodes. `file` is the name in errors and outlives this; all errors are data errors.
class YamlReader {
 public:
  explicit YamlReader(std::string_view file) : file_(file) {}

  [[nodiscard]] std::string_view file() const { return file_; }
  /// "FILE line N: WHAT".
  [[nodiscard]] Error error(const YamlNode& at, const std::string& what, std::string hint = {}) const;
  /// The error of a value that could not be parsed, with the place and the key's name in front.
  template <typename T>
  [[nodiscard]] Result<T> located(const YamlNode& at, const std::string& name, const Result<T>& value) const {
    if (!value.ok()) return error(at, name + ": " + value.error().what, value.error().hint);
    return value;
  }

  [[nodiscard]] Status only_keys(const YamlNode& map, const std::vector<std::string>& allowed) const;
  /// YAML forbids a key that is there twice, yaml-cpp takes one of them.
  [[nodiscard]] Status no_key_twice(const YamlNode& map) const;

  /// Reads a map as a table of yaml_keys.h says: first no other keys and none twice, then the values in the table's
  /// order. `no_map` is the error for what is no map. Members whose keys are absent stay as they are.
  template <typename Keys, typename Owner>
  [[nodiscard]] Status fill(const YamlNode& map, const std::string& no_map, const Keys& keys, Owner& into) const;
  [[nodiscard]] Status fill_members(const YamlNode& map, const std::string& no_map, std::span<const YamlKey> keys,
                                    void* into) const;
  /// The value of one key, as its row says.
  [[nodiscard]] Status value(const YamlNode& node, const YamlKey& key, std::string& into) const;
  [[nodiscard]] Status value(const YamlNode& node, const YamlKey& key, bool& into) const;
  [[nodiscard]] Status value(const YamlNode& node, const YamlKey& key, double& into) const;
  [[nodiscard]] Status value(const YamlNode& node, const YamlKey& key, std::int64_t& into) const;
  [[nodiscard]] Status value(const YamlNode& node, const YamlKey& key, YamlPairs& into) const;

  [[nodiscard]] Result<std::string> scalar(const YamlNode& node, const std::string& name) const;
  /// One of the words; the error lists them.
  [[nodiscard]] Result<std::string> one_of(const YamlNode& node, const std::string& name,
                                           const std::vector<std::string>& words) const;
  /// A list of single values, or one value alone.
  [[nodiscard]] Result<std::vector<std::string>> texts(const YamlNode& node, const std::string& name) const;

 private:
  std::string_view file_;
};

}  // namespace warpmark
