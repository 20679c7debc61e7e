#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "base/units.h"

namespace warpmark {
namespace {

/// Where the documents of a text begin, which of them say anything, and how many values they have: yaml-cpp takes some
/// 1000 bytes for each, and an alias stands for all values of what it names.
class DocumentCounter final : public YAML::EventHandler {
 public:
  [[nodiscard]] const YAML::Mark& begin() const { return begin_; }
  [[nodiscard]] std::size_t values() const { return values_; }
  /// Some alias stands inside of what it names.
  [[nodiscard]] bool is_endless() const { return endless_; }
  /// Up to the last one that is not empty.
  [[nodiscard]] int documents() const { return last_full_; }
  /// The last one began where the one before it did: the parser does not get past something.
  [[nodiscard]] bool is_stuck() const { return stuck_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    stuck_ = begun_ > 0 && mark.pos == begin_.pos;
    begin_ = mark;
    ++begun_;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override {
    open(anchor);
    close();
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    last_full_ = begun_;
    const auto named = sizes_.find(anchor);
    endless_ = endless_ || named == sizes_.end();
    if (named != sizes_.end()) values_ = std::min(values_ + named->second, kEnough);
  }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t anchor, const std::string&) override {
    last_full_ = begun_;
    open(anchor);
    close();
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    last_full_ = begun_;
    open(anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    last_full_ = begun_;
    open(anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  static constexpr std::size_t kEnough = 1 << 30;  // aliases of aliases grow without end

  struct Open {
    YAML::anchor_t anchor;
    std::size_t values_before;
  };
  void open(YAML::anchor_t anchor) { open_.push_back({anchor, values_++}); }
  void close() {
    const auto [anchor, before] = open_.back();
    open_.pop_back();
    if (anchor != YAML::NullAnchor) sizes_[anchor] = values_ - before;
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::size_t> sizes_;  ///< of what has a name
  std::size_t values_ = 0;
  bool endless_ = false;
  YAML::Mark begin_;
  int begun_ = 0;
  int last_full_ = 0;
  bool stuck_ = false;
};

}  // namespace

/// Not by YAML::LoadAll: yaml-cpp 0.7 sees an empty document before a stray ',', and again before the same one, so that
/// a file of one comma would fill the memory.
Result<YAML::Node> only_document(const std::string& text, std::string_view file) {
  if (text.size() > static_cast<std::size_t>(kLargestYamlBytes)) {
    return data_error(fmt::format("{} is larger than {} bytes", file, kLargestYamlBytes), "is it the right file?");
  }
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  while (parser.HandleNextDocument(counter)) {
    if (counter.is_stuck()) {
      return data_error(fmt::format("{} line {}: a value was expected", file, counter.begin().line + 1),
                        "the file must be valid YAML");
    }
  }
  if (counter.documents() > 1) {
    return data_error(fmt::format("{} has {} documents, one is expected", file, counter.documents()),
                      "a line --- begins another one");
  }
  if (counter.is_endless()) {
    return data_error(fmt::format("{} has an alias inside of what it names", file), "write the value itself there");
  }
  if (counter.values() > kMostYamlValues) {
    return data_error(fmt::format("{} has more than {} keys and values", file, kMostYamlValues),
                      "an alias counts as all that it stands for; split the file");
  }
  return counter.documents() == 0 ? YAML::Node() : YAML::Load(text);
}

Error YamlReader::error(const YAML::Node& at, const std::string& what, std::string hint) const {
  const int line = std::max(0, at.Mark().line) + 1;  // yaml-cpp gives an empty file the line -1
  return data_error(fmt::format("{} line {}: {}", file_, line, what), std::move(hint));
}

Status YamlReader::no_key_twice(const YAML::Node& map) const {
  std::set<std::string> keys;
  for (const auto& item : map) {
    if (!item.first.IsScalar()) return error(item.first, "keys must be single words");
    if (!keys.insert(item.first.Scalar()).second) {
      return error(item.first, "'" + item.first.Scalar() + "' is there twice", "keep one of them");
    }
  }
  return {};
}

Status YamlReader::only_keys(const YAML::Node& map, const std::vector<std::string>& allowed) const {
  WM_TRY(no_key_twice(map));
  for (const auto& item : map) {
    const auto key = item.first.Scalar();
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const auto meant = nearest(key, allowed);
    return error(item.first, "unknown key '" + key + "'",
                 meant.empty() ? "allowed: " + join(allowed, ", ") : "did you mean '" + meant + "'?");
  }
  return {};
}

Status YamlReader::schema(const YAML::Node& root, std::string_view expected) const {
  const auto node = root["schema"];
  if (!node) return {};
  WM_ASSIGN(const auto found, scalar(node, "schema"));
  if (found == expected) return {};
  return error(node, "schema '" + found + "' is not known", "use " + std::string(expected));
}

Result<std::string> YamlReader::scalar(const YAML::Node& node, const std::string& name) const {
  if (!node.IsScalar()) return error(node, name + " must be a single value");
  return node.Scalar();
}

Result<bool> YamlReader::flag(const YAML::Node& node, const std::string& name) const {
  bool value = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value)) {
    return error(node, name + " must be true or false");
  }
  return value;
}

Result<double> YamlReader::number(const YAML::Node& node, const std::string& name) const {
  WM_ASSIGN(const auto text, scalar(node, name));
  return located(node, name, parse_number(text));
}

Result<std::int64_t> YamlReader::count(const YAML::Node& node, const std::string& name, std::int64_t least,
                                       std::int64_t most) const {
  WM_ASSIGN(const auto text, scalar(node, name));
  WM_ASSIGN(const auto value, located(node, name, parse_integer(text)));
  if (value < least || value > most) {
    return error(node, fmt::format("{} is {}, must be {} to {}", name, value, least, most));
  }
  return value;
}

Result<double> YamlReader::duration_s(const YAML::Node& node, const std::string& name) const {
  WM_ASSIGN(const auto text, scalar(node, name));
  WM_ASSIGN(const auto seconds, located(node, name, parse_duration_s(text)));
  if (!(seconds > 0)) return error(node, name + " must be above 0");
  return seconds;
}

Result<double> YamlReader::ratio(const YAML::Node& node, const std::string& name) const {
  WM_ASSIGN(const auto text, scalar(node, name));
  WM_ASSIGN(const auto value, located(node, name, parse_ratio(text)));
  if (!(value > 0)) return error(node, name + " must be above 0");
  return value;
}

Result<std::string> YamlReader::one_of(const YAML::Node& node, const std::string& name,
                                       const std::vector<std::string>& words) const {
  WM_ASSIGN(const auto word, scalar(node, name));
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  const auto meant = nearest(word, words);
  return error(node, name + " is '" + word + "'",
               (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "one of: " + join(words, ", "));
}

Result<std::vector<std::string>> YamlReader::texts(const YAML::Node& node, const std::string& name) const {
  std::vector<std::string> result;
  if (!node.IsSequence()) {
    WM_ASSIGN(result.emplace_back(), scalar(node, name));
    return result;
  }
  for (const auto& item : node) {
    WM_ASSIGN(auto text, scalar(item, name));
    result.push_back(std::move(text));
  }
  return result;
}

Result<std::vector<std::pair<std::string, std::string>>> YamlReader::pairs(const YAML::Node& map,
                                                                           const std::string& name) const {
  if (!map.IsMap()) return error(map, name + " must be a map such as {m: 1024, dtype: f32}");
  WM_TRY(no_key_twice(map));
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& item : map) {
    WM_ASSIGN(auto value, scalar(item.second, name + "." + item.first.Scalar()));
    result.emplace_back(item.first.Scalar(), std::move(value));
  }
  return result;
}

}  // namespace warpmark
