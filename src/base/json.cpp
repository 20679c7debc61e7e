#include "base/json.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/untrusted/input.h"
#include "base/untrusted/read_fields.h"

namespace warpmark {
namespace {

/// Whether brackets outside of strings are open more than kMostJsonLevels deep.
bool too_deep(std::string_view text) {
  std::size_t level = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++level > kMostJsonLevels) return true;
    } else if (!quoted && (c == ']' || c == '}') && level > 0) {
      --level;
    }
  }
  return false;
}

/// Makes the document of what the parser finds. nlohmann's own looks through all keys of an object for each further
/// one: minutes for the 128,000 words of a vocabulary.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json document;
  std::string problem;  ///< in nlohmann's words; empty if there is none

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t& value) override { return add(Json::binary(std::move(value))) != nullptr; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    levels_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& exception) override {
    problem = exception.what();
    return false;
  }

 private:
  struct Level {
    Json* value;
    std::string key{};                                      ///< of what comes next
    std::unordered_map<std::string, std::size_t> places{};  ///< of the keys, once there are many
  };

  Json* add(Json value) {
    if (levels_.empty()) return &(document = std::move(value));
    Level& level = levels_.back();
    if (auto* list = level.value->get_ptr<Json::array_t*>(); list != nullptr) {
      return &list->emplace_back(std::move(value));
    }
    constexpr std::size_t kMany = 32;
    auto& object = level.value->get_ref<Json::object_t&>();
    if (object.size() < kMany) return &(object[level.key] = std::move(value));
    if (level.places.empty()) {
      for (std::size_t i = 0; i < object.size(); ++i)
        level.places.emplace(object.begin()[static_cast<long>(i)].first, i);
    }
    const auto [at, is_new] = level.places.try_emplace(level.key, object.size());
    if (is_new) return &object.emplace_back(std::move(level.key), std::move(value)).second;
    return &(object.begin()[static_cast<long>(at->second)].second = std::move(value));
  }
  bool open(Json value) {
    levels_.push_back({.value = add(std::move(value))});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
};

/// One of JSON's types, by nlohmann-json's name of it.
std::string a_value_of(std::string_view type) {
  if (type == "null") return "null";
  if (type == "array") return "a list";
  return (type == "object" ? "an " : "a ") + std::string(type);
}

/// What nlohmann-json says of a text, without its own names: "line 2, column 7: invalid literal; last read: 'x'".
std::string what_is_wrong(std::string_view what) {
  const std::string text = without_library_names(what);
  std::string_view said = text;
  constexpr std::string_view kAt = "parse error at ", kExpected = "; expected ", kWhile = ": syntax error while ";
  if (said.starts_with(kAt)) said.remove_prefix(kAt.size());
  const auto place = said.find(kWhile), cause = said.find(" - ");
  if (place == std::string_view::npos || cause == std::string_view::npos || cause < place) return std::string(said);
  const auto rest = said.substr(cause + 3);
  return std::string(said.substr(0, place)) + ": " + std::string(rest.substr(0, rest.rfind(kExpected)));
}

/// What it says of a field, in our words: "a number where a string is expected", "the field 'x' is missing".
std::string what_is_wrong_with_a_field(std::string_view what) {
  const std::string text = without_library_names(what);
  const std::string_view said = text;
  constexpr std::string_view kType = "type must be ", kIs = ", but is ", kUse = "cannot use ", kWith = " with ",
                             kKey = "key '", kNotFound = "' not found";
  if (const auto is = said.find(kIs); said.starts_with(kType) && is != std::string_view::npos) {
    const auto wanted = said.substr(kType.size(), is - kType.size());
    return a_value_of(said.substr(is + kIs.size())) + " where " + a_value_of(wanted) + " is expected";
  }
  if (const auto with = said.rfind(kWith); said.starts_with(kUse) && with != std::string_view::npos) {
    return a_value_of(said.substr(with + kWith.size())) + " where an object or a list is expected";
  }
  if (said.starts_with(kKey) && said.ends_with(kNotFound)) {
    return "the field '" + std::string(said.substr(kKey.size(), said.size() - kKey.size() - kNotFound.size())) +
           "' is missing";
  }
  return what_is_wrong(what);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) {
  if (too_deep(text)) {
    return data_error(std::string(name) + " is nested more than " + std::to_string(kMostJsonLevels) + " levels deep",
                      "no tool writes such JSON: is the file damaged?");
  }
  if (trim(text).empty()) return data_error(std::string(name) + " is empty, where JSON is expected");
  Builder builder;
  if (Json::sax_parse(text, &builder)) return std::move(builder.document);
  return data_error(std::string(name) + " is not valid JSON: " + what_is_wrong(builder.problem));
}

std::string without_library_names(std::string_view said) {
  const auto id = said.find("] ");
  return std::string(said.starts_with("[json.exception") && id != std::string_view::npos ? said.substr(id + 2) : said);
}

Error wrong_fields(std::string_view name, const nlohmann::json::exception& exception) {
  return data_error(
      std::string(name) + " does not have the fields it should: " + what_is_wrong_with_a_field(exception.what()),
      kWrongFieldsHint);
}

std::string dump_json(const Json& json, int indent) {
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find_first_of("\x7F\xC2\xD8\xE2", at)) != std::string::npos;) {
    const Character next = character_at(std::string_view(text).substr(at));
    if (!may_be_shown(next.code)) {
      out.append(text, done, at - done) += fmt::format("\\u{:04x}", next.code);
      done = at + next.bytes;
    }
    at += next.bytes;
  }
  return done == 0 ? text : out.append(text, done);
}

}  // namespace warpmark
