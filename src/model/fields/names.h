// The names of an enumeration's values, declared once:
//
//   constexpr auto kBetterNames = in_order(Better::higher, "lower", "higher");
//   constexpr Names names_of(Better) { return kBetterNames; }
//
// In a list of Name, others may follow that of a value: those of files of before, which are read, too.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace warpmark {

struct Name {
  template <typename Value>
  constexpr Name(Value named, const char* name) : value(static_cast<std::int64_t>(named)), text(name) {}
  std::int64_t value;
  const char* text;
};
using Names = std::span<const Name>;

/// The names of all values in the order of their declaration. Does not compile if there are more or fewer up to `last`.
template <typename Value, typename... Text>
consteval std::array<Name, sizeof...(Text)> in_order(Value last, Text... texts) {
  WM_CHECK(static_cast<std::size_t>(last) + 1 == sizeof...(Text));
  std::int64_t value = 0;
  return {Name(value++, texts)...};
}

/// "unknown" for a value without a name.
[[nodiscard]] constexpr const char* name_in(Names names, std::int64_t value) {
  for (const Name& name : names) {
    if (name.value == value) return name.text;
  }
  return "unknown";
}

[[nodiscard]] constexpr std::optional<std::int64_t> value_in(Names names, std::string_view text) {
  for (const Name& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

template <typename Value>
concept Named = requires(Value value) {
  { names_of(value) } -> std::same_as<Names>;
};

template <Named Value>
[[nodiscard]] constexpr const char* name_of(Value value) {
  return name_in(names_of(value), static_cast<std::int64_t>(value));
}

/// nullopt if the text names no such value.
template <Named Value>
[[nodiscard]] constexpr std::optional<Value> value_named(std::string_view text) {
  const auto value = value_in(names_of(Value{}), text);
  return value ? std::optional(static_cast<Value>(*value)) : std::nullopt;
}

}  // namespace warpmark
