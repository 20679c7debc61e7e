// Values that are written as words and read by a parser: for tables of fields.
#pragma once

#include <string>

#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark::collectives {

template <typename Value, auto kText, auto kParse>
constexpr Form kWordForm{[](const void* value) -> Json { return kText(*static_cast<const Value*>(value)); },
                         [](const Json& json, void* value) -> const char* {
                           if (!json.is_string()) return "a text";
                           auto parsed = kParse(json.get_ref<const std::string&>());
                           if (!parsed.ok()) return "one of the words known here";
                           *static_cast<Value*>(value) = *parsed;
                           return nullptr;
                         },
                         R"({"type": "string"})"};

/// An interval as [low, high].
extern const Form kEndsForm;
extern const Form kCollectiveForm;
extern const Form kDataTypeForm;
extern const Form kReduceOpForm;

}  // namespace warpmark::collectives
