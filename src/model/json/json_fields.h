// Reading the fields of one JSON object that another program wrote. The reader keeps the first error, with the path of
// the key ("runs[3].metrics[0].unit is missing"), so that reading code is a plain list of fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/fields/fields.h"

namespace warpmark {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

class JsonFields {
 public:
  /// `path` names the object in errors; empty for a whole file. `json` and `error` outlive this.
  JsonFields(const Json& json, std::string path, std::optional<Error>& error);

  template <typename Value>
  void required(const char* key, Value& out) {
    read(key, true, Field{key, "", &kTypeOf<Value>, nullptr}, &out);
  }

  /// Leaves `out` as it is when the key is absent or null.
  template <typename Value>
  void maybe(const char* key, Value& out) {
    read(key, false, Field{key, "", &kTypeOf<Value>, nullptr}, &out);
  }
  void maybe(const char* key, NamedTexts& out);

  /// An enumeration by its text; `parse` is one of model/names.h.
  template <typename Value>
  void required_name(const char* key, std::optional<Value> (*parse)(std::string_view), Value& out) {
    std::string text;
    required(key, text);
    if (error_) return;
    if (const auto value = parse(text)) {
      out = *value;
    } else {
      fail(key, "cannot be '" + text + "'");
    }
  }

  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }

  /// Calls `read` with the fields of the object at `key`; a required one must be there.
  template <typename Read>
  void object(const char* key, bool is_required, Read&& read) {
    const Json* child = find(key);
    if (child == nullptr && is_required) fail(key, "is missing");
    if (child == nullptr || error_) return;
    JsonFields fields(*child, path_of(key), error_);
    if (!error_) read(fields);
  }

  /// Calls `read` with the fields of each object of the array at `key`. An absent array has none.
  template <typename Read>
  void each(const char* key, Read&& read) {
    const Json* array = find_array(key);
    if (array == nullptr || error_) return;
    for (std::size_t i = 0; i < array->size() && !error_; ++i) {
      JsonFields fields((*array)[i], path_of(key) + "[" + std::to_string(i) + "]", error_);
      if (!error_) read(fields);
    }
  }

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] std::string path_of(std::string_view key) const;
  void fail(std::string_view key, const std::string& what);
  /// What went wrong with a value that was read; reading ends there.
  void keep(const Status& status);

 private:
  [[nodiscard]] const Json* find(const char* key) const;
  [[nodiscard]] const Json* find_array(const char* key);
  void read(const char* key, bool is_required, const Field& field, void* out);

  const Json* json_;
  std::string path_;
  std::optional<Error>& error_;
};

}  // namespace warpmark
