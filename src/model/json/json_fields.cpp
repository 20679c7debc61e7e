#include "model/json/json_fields.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/json.h"

namespace warpmark {
namespace {

template <typename Value>
constexpr const char* expected() {
  if constexpr (std::is_same_v<Value, std::string>) return "a text";
  if constexpr (std::is_same_v<Value, bool>) return "true or false";
  if constexpr (std::is_same_v<Value, double>) return "a number";
  return "a whole number that fits";
}

/// Whether the JSON value holds a Value, without rounding or wrapping.
template <typename Value>
bool holds(const Json& json) {
  if constexpr (std::is_same_v<Value, std::string>) return json.is_string();
  if constexpr (std::is_same_v<Value, bool>) return json.is_boolean();
  if constexpr (std::is_same_v<Value, double>) return json.is_number();
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    if (json.is_number_unsigned()) {
      return json.template get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
    }
    if (!json.is_number_integer()) return false;
    const auto whole = json.template get<std::int64_t>();
    return whole >= std::numeric_limits<Value>::min() && whole <= std::numeric_limits<Value>::max();
  }
  return false;
}

}  // namespace

double finite_number(double value) {
  WM_CHECK(std::isfinite(value));
  return value;
}

void put_text(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void put_known(Json& json, const char* key, double value) {
  if (finite_number(value) != 0) json[key] = value;
}

void put_known(Json& json, const char* key, std::int64_t value) {
  if (value != 0) json[key] = value;
}

void put_optional(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = finite_number(*value);
}

void put_named_texts(Json& json, const char* key, const NamedTexts& pairs) {
  if (pairs.empty()) return;
  Json array = Json::array();
  for (const auto& [name, text] : pairs) array.push_back({{"name", name}, {"text", text}});
  json[key] = std::move(array);
}

JsonFields::JsonFields(const Json& json, std::string path, std::optional<Error>& error)
    : json_(&json), path_(std::move(path)), error_(error) {
  if (json.is_object() || error_) return;
  error_ =
      data_error((path_.empty() ? std::string("the document") : path_) + " must be an object, not " + json.type_name());
}

std::string JsonFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void JsonFields::fail(std::string_view key, const std::string& what) {
  if (!error_) error_ = data_error(path_of(key) + " " + what);
}

void JsonFields::keep(const Status& status) {
  if (!error_ && !status.ok()) error_ = status.error();
}

const Json* JsonFields::find(const char* key) const {
  if (!json_->is_object()) return nullptr;
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

const Json* JsonFields::find_array(const char* key) {
  const Json* value = find(key);
  if (value == nullptr || value->is_array()) return value;
  fail(key, std::string("must be an array, not ") + value->type_name());
  return nullptr;
}

template <typename Value>
void JsonFields::read_value(const char* key, bool is_required, Value& out) {
  if (error_) return;
  const Json* value = find(key);
  if (value == nullptr) {
    if (is_required) fail(key, "is missing");
    return;
  }
  if (!holds<Value>(*value)) {
    fail(key, std::string("must be ") + expected<Value>() + ", not " + value->type_name() + " " +
                  dump_json(*value, -1).substr(0, 40));
    return;
  }
  out = value->template get<Value>();
}

template <typename Value>
void JsonFields::read_array(const char* key, std::vector<Value>& out) {
  if (error_) return;
  const Json* array = find_array(key);
  if (array == nullptr) return;
  out.clear();
  out.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (!holds<Value>((*array)[i])) {
      fail(std::string(key) + "[" + std::to_string(i) + "]", std::string("must be ") + expected<Value>());
      return;
    }
    out.push_back((*array)[i].template get<Value>());
  }
}

void JsonFields::required(const char* key, std::string& out) { read_value(key, true, out); }
void JsonFields::required(const char* key, bool& out) { read_value(key, true, out); }
void JsonFields::required(const char* key, std::int64_t& out) { read_value(key, true, out); }
void JsonFields::required(const char* key, double& out) { read_value(key, true, out); }

void JsonFields::maybe(const char* key, std::string& out) { read_value(key, false, out); }
void JsonFields::maybe(const char* key, bool& out) { read_value(key, false, out); }
void JsonFields::maybe(const char* key, int& out) { read_value(key, false, out); }
void JsonFields::maybe(const char* key, std::int64_t& out) { read_value(key, false, out); }
void JsonFields::maybe(const char* key, double& out) { read_value(key, false, out); }
void JsonFields::maybe(const char* key, std::vector<double>& out) { read_array(key, out); }
void JsonFields::maybe(const char* key, std::vector<std::int64_t>& out) { read_array(key, out); }
void JsonFields::maybe(const char* key, std::vector<std::string>& out) { read_array(key, out); }

void JsonFields::maybe(const char* key, std::optional<double>& out) {
  if (error_ || !has(key)) return;
  double value = 0;
  read_value(key, false, value);
  if (!error_) out = value;
}

void JsonFields::maybe(const char* key, NamedTexts& out) {
  if (error_) return;
  out.clear();
  each(key, [&](JsonFields& fields) {
    auto& [name, text] = out.emplace_back();
    fields.required("name", name);
    fields.required("text", text);
  });
}

}  // namespace warpmark
