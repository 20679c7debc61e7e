#include "model/fields/forms.h"

#include <cmath>

#include "base/json.h"

namespace warpmark {

constexpr Form kAnyJson{[](const void* value) { return *static_cast<const Json*>(value); },
                        [](const Json& json, void* value) -> const char* {
                          *static_cast<Json*>(value) = json;
                          return nullptr;
                        },
                        "{}"};
constexpr Form kNumberOrNull{[](const void* value) -> Json {
                               const double number = *static_cast<const double*>(value);
                               return std::isnan(number) ? Json() : Json(number);
                             },
                             [](const Json& json, void* value) -> const char* {
                               const bool none = json.is_null();
                               if (!none && !json.is_number()) return "a number or null";
                               *static_cast<double*>(value) = none ? std::nan("") : json.get<double>();
                               return nullptr;
                             },
                             R"({"type": ["number", "null"]})"};

}  // namespace warpmark
