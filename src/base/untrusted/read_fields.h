// Reading a document of JSON by at(), value() and get(), which throw where a field is missing or of another type.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace warpmark {

/// What an exception says, without the name that nlohmann-json puts before it.
[[nodiscard]] std::string without_library_names(std::string_view said);

/// What to do about a document whose fields are wrong.
inline constexpr const char* kWrongFieldsHint = "was it written by another version, or edited?";
/// What is wrong with the fields of a document, by what nlohmann-json says of it.
[[nodiscard]] Error wrong_fields(std::string_view name, const nlohmann::json::exception& exception);

/// What `read` returns. Data error where a field is missing or of another type; `name` is the file or source named in
/// the error.
template <typename Read>
[[nodiscard]] auto read_fields(std::string_view name, Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const nlohmann::json::exception& exception) {
    return wrong_fields(name, exception);
  }
}

}  // namespace warpmark
