#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"

namespace warpmark {
namespace {

/// Makes the tree of the first document, and counts documents and values: an alias stands for all values of what it
/// names. Beyond the limit nothing is kept.
struct TreeBuilder final : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark& mark) override {
    is_stuck = begun > 0 && mark.pos == begin.pos;
    begin = mark;
    ++begun;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    open(YamlKind::null, mark, anchor);
    close();
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    open(YamlKind::scalar, mark, anchor, text);
    close();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlKind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlKind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    documents = begun;
    const auto found = named.find(anchor);
    is_endless = is_endless || found == named.end();
    if (found != named.end()) add(found->second.value, found->second.values);
  }

  void open(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text = {}) {
    if (kind != YamlKind::null) documents = begun;
    YamlValue* value = nullptr;
    if (values <= kMostYamlValues) value = &tree->emplace_back(YamlValue{kind, std::max(0, mark.line) + 1, text, {}});
    const auto before = values;
    add(value, 1);
    opened.push_back({value, before, anchor});
  }
  void close() {
    auto& last = opened.back();
    if (last.anchor != YAML::NullAnchor) named[last.anchor] = {last.value, values - last.values, last.anchor};
    opened.pop_back();
  }
  /// Counts up to just beyond the limit: aliases of aliases grow without end.
  void add(const YamlValue* value, std::size_t its_values) {
    values = std::min(values + its_values, kMostYamlValues + 1);
    if (values <= kMostYamlValues && !opened.empty()) opened.back().value->parts.push_back(value);
  }

  struct Part {
    YamlValue* value;
    std::size_t values;  ///< with all in it; of one that is not closed yet those before it
    YAML::anchor_t anchor;
  };
  std::shared_ptr<std::deque<YamlValue>> tree = std::make_shared<std::deque<YamlValue>>();
  std::vector<Part> opened;
  std::map<YAML::anchor_t, Part> named;
  std::size_t values = 0;
  YAML::Mark begin;         ///< of the last document
  int begun = 0;            ///< documents
  int documents = 0;        ///< up to the last one that is not empty
  bool is_endless = false;  ///< an alias stands inside of what it names
  bool is_stuck = false;    ///< the last one began where the one before it did: the parser does not get past something
};

/// Not by YAML::LoadAll: yaml-cpp 0.7 sees an empty document before a stray ',', and again before the same one, so that
/// a file of one comma would fill the memory.
Result<YamlNode> only_document(std::string_view text, std::string_view file) {
  if (text.size() > static_cast<std::size_t>(kLargestYamlBytes)) {
    return data_error(fmt::format("{} is larger than {} bytes", file, kLargestYamlBytes), "is it the right file?");
  }
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  TreeBuilder builder;
  while (parser.HandleNextDocument(builder)) {
    if (builder.is_stuck) {
      return data_error(fmt::format("{} line {}: a value was expected", file, builder.begin.line + 1),
                        "the file must be valid YAML");
    }
  }
  if (builder.documents > 1) {
    return data_error(fmt::format("{} has {} documents, one is expected", file, builder.documents),
                      "a line --- begins another one");
  }
  if (builder.is_endless) {
    return data_error(fmt::format("{} has an alias inside of what it names", file), "write the value itself there");
  }
  if (builder.values > kMostYamlValues) {
    return data_error(fmt::format("{} has more than {} keys and values", file, kMostYamlValues),
                      "an alias counts as all that it stands for; split the file");
  }
  if (builder.documents == 0) return YamlNode(std::make_shared<YamlValue>());
  return YamlNode({builder.tree, &builder.tree->front()});
}

}  // namespace

Result<YamlNode> read_yaml(std::string_view text, std::string_view file) {
  try {
    return only_document(text, file);
  } catch (const YAML::Exception& exception) {
    return data_error(fmt::format("{} line {}: {}", file, exception.mark.line + 1, exception.msg),
                      exception.msg.find("escape") != std::string::npos
                          ? "in double quotes a backslash begins an escape: write a regex in single quotes"
                          : "the file must be valid YAML");
  }
}

YamlNode YamlNode::operator[](std::string_view key) const {
  for (std::size_t i = 0; is_map() && i < value_->parts.size(); i += 2) {
    const YamlValue& found = *value_->parts[i];
    if (found.kind == YamlKind::scalar && found.text == key) return part(i + 1);
  }
  YamlNode absent;
  absent.line_ = line_;
  return absent;
}

std::vector<YamlNode> YamlNode::items() const {
  std::vector<YamlNode> items;
  for (std::size_t i = 0; is_list() && i < value_->parts.size(); ++i) items.push_back(part(i));
  return items;
}

std::vector<std::pair<YamlNode, YamlNode>> YamlNode::pairs() const {
  std::vector<std::pair<YamlNode, YamlNode>> pairs;
  for (std::size_t i = 0; is_map() && i < value_->parts.size(); i += 2) pairs.emplace_back(part(i), part(i + 1));
  return pairs;
}

Error YamlReader::error(const YamlNode& at, const std::string& what, std::string hint) const {
  return data_error(fmt::format("{} line {}: {}", file_, at.line(), what), std::move(hint));
}

Status YamlReader::no_key_twice(const YamlNode& map) const {
  std::set<std::string> keys;
  for (const auto& [key, value] : map.pairs()) {
    if (!key.is_scalar()) return error(key, "keys must be single words");
    if (!keys.insert(key.text()).second) return error(key, "'" + key.text() + "' is there twice", "keep one of them");
  }
  return {};
}

Status YamlReader::only_keys(const YamlNode& map, const std::vector<std::string>& allowed) const {
  WM_TRY(no_key_twice(map));
  for (const auto& [node, value] : map.pairs()) {
    const auto key = node.text();
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const auto meant = nearest(key, allowed);
    return error(node, "unknown key '" + key + "'",
                 meant.empty() ? "allowed: " + join(allowed, ", ") : "did you mean '" + meant + "'?");
  }
  return {};
}

Status YamlReader::fill_members(const YamlNode& map, const std::string& no_map, std::span<const YamlKey> keys,
                                void* into) const {
  if (!map.is_map()) return error(map, no_map);
  std::vector<std::string> allowed;
  for (const YamlKey& key : keys) allowed.emplace_back(key.key);
  WM_TRY(only_keys(map, allowed));
  for (const YamlKey& key : keys) {
    const YamlNode node = map[key.key];
    if (node && key.read != nullptr) WM_TRY(key.read(*this, node, key, into));
    if (node || key.missing == nullptr) continue;
    return error(map, *key.missing == '\0' ? std::string("there is no ") + key.key : key.missing, key.hint);
  }
  return {};
}

Status YamlReader::value(const YamlNode& node, const YamlKey& key, std::string& into) const {
  std::vector<std::string> words;
  for (const auto& word : split(key.form.text, ',')) words.emplace_back(trim(word));
  WM_ASSIGN(into, words.empty() ? scalar(node, key.key) : one_of(node, key.key, words));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (key.form.kind != YamlForm::Kind::one_line || std::ranges::none_of(into, is_control)) return {};
  return error(node, std::string(key.key) + " has control characters", "one line of plain text");
}

Status YamlReader::value(const YamlNode& node, const YamlKey& key, bool& into) const {
  static const std::set<std::string> kTrue{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
  static const std::set<std::string> kFalse{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  into = kTrue.contains(node.text());
  return into || kFalse.contains(node.text()) ? Status() : error(node, std::string(key.key) + " must be true or false");
}

Status YamlReader::value(const YamlNode& node, const YamlKey& key, double& into) const {
  using Kind = YamlForm::Kind;
  const Kind kind = key.form.kind;
  WM_ASSIGN(const auto text, scalar(node, key.key));
  WM_ASSIGN(into, located(node, key.key,
                          kind <= Kind::positive   ? parse_number(text)
                          : kind == Kind::ratio    ? parse_ratio(text)
                          : kind == Kind::quantity ? parse_quantity(text, key.form.text)
                                                   : parse_duration_s(text)));
  const bool any = kind == Kind::by_type || kind == Kind::duration_or_zero;
  return any || into > 0 ? Status() : Status(error(node, std::string(key.key) + " must be above 0"));
}

Status YamlReader::value(const YamlNode& node, const YamlKey& key, std::int64_t& into) const {
  WM_ASSIGN(const auto text, scalar(node, key.key));
  WM_ASSIGN(into, located(node, key.key, parse_integer(text)));
  if (into >= key.form.least && into <= key.form.most) return {};
  return error(node, fmt::format("{} is {}, must be {} to {}", key.key, into, key.form.least, key.form.most));
}

Status YamlReader::value(const YamlNode& node, const YamlKey& key, YamlPairs& into) const {
  const char* example = *key.form.text == '\0' ? "{m: 1024, dtype: f32}" : key.form.text;
  if (!node.is_map()) return error(node, fmt::format("{} must be a map such as {}", key.key, example));
  WM_TRY(no_key_twice(node));
  for (const auto& [name, text] : node.pairs()) {
    WM_ASSIGN(into.emplace_back(name.text(), "").second, scalar(text, std::string(key.key) + "." + name.text()));
  }
  return {};
}

Result<std::string> YamlReader::scalar(const YamlNode& node, const std::string& name) const {
  if (!node) return error(node, "there is no " + name);
  if (!node.is_scalar()) return error(node, name + " must be a single value");
  return node.text();
}

Result<std::string> YamlReader::one_of(const YamlNode& node, const std::string& name,
                                       const std::vector<std::string>& words) const {
  WM_ASSIGN(const auto word, scalar(node, name));
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  const auto meant = nearest(word, words);
  return error(node, name + " is '" + word + "'",
               (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "one of: " + join(words, ", "));
}

Result<std::vector<std::string>> YamlReader::texts(const YamlNode& node, const std::string& name) const {
  std::vector<std::string> result;
  for (const auto& item : node.is_list() ? node.items() : std::vector<YamlNode>{node}) {
    WM_ASSIGN(result.emplace_back(), scalar(item, name));
  }
  return result;
}

}  // namespace warpmark
