// A value of a YAML file, apart from the library that parses it: only yaml.cpp includes yaml-cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmark {

enum class YamlKind : unsigned char { null, scalar, list, map };

/// One value of a parsed document, which owns it.
struct YamlValue {
  YamlKind kind = YamlKind::null;
  int line = 1;
  std::string text;                     ///< of a scalar
  std::vector<const YamlValue*> parts;  ///< items of a list; of a map its keys, each followed by its value
};

/// Refers to a value and keeps its document. One that is false is absent, which is not null: the map has no such key.
class YamlNode {
 public:
  YamlNode() = default;
  explicit YamlNode(std::shared_ptr<const YamlValue> value) : value_(std::move(value)), line_(value_->line) {}

  explicit operator bool() const { return value_ != nullptr; }
  [[nodiscard]] bool is_null() const { return is(YamlKind::null); }
  [[nodiscard]] bool is_scalar() const { return is(YamlKind::scalar); }
  [[nodiscard]] bool is_list() const { return is(YamlKind::list); }
  [[nodiscard]] bool is_map() const { return is(YamlKind::map); }

  /// From 1. An absent node has that of its map.
  [[nodiscard]] int line() const { return line_; }
  /// Of a scalar, else empty.
  [[nodiscard]] std::string text() const { return value_ ? value_->text : std::string(); }
  /// The value of a key, absent also in what is no map. Of a key that is there twice it is the first.
  [[nodiscard]] YamlNode operator[](std::string_view key) const;
  /// Of a list; none of what is no list.
  [[nodiscard]] std::vector<YamlNode> items() const;
  /// Keys and values of a map in the file's order, else none.
  [[nodiscard]] std::vector<std::pair<YamlNode, YamlNode>> pairs() const;

 private:
  [[nodiscard]] bool is(YamlKind kind) const { return value_ && value_->kind == kind; }
  [[nodiscard]] YamlNode part(std::size_t i) const { return YamlNode({value_, value_->parts[i]}); }

  std::shared_ptr<const YamlValue> value_;
  int line_ = 1;
};

}  // namespace warpmark
