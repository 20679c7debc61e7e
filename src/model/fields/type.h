// How the value of a field is reached without knowing its C++ type: what the writer, the reader and the schema walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/fields/names.h"

namespace warpmark {

struct Type {
  /// A map is an object with any keys. What a `part` is, its field says: a record, or a value of its own form.
  enum class Kind : unsigned char { text, boolean, whole, real, name, optional, list, map, part };

  Kind kind = Kind::part;
  const Type* item = nullptr;                                   ///< of an optional, a list or a map
  Names names;                                                  ///< of an enumeration
  std::int64_t (*load)(const void*) = nullptr;                  ///< whole numbers, enumerations and booleans
  bool (*store)(void*, std::int64_t) = nullptr;                 ///< false if it does not fit
  bool is_unsigned = false;                                     ///< of 64 bits: may be beyond what `load` tells
  std::size_t (*size)(const void*) = nullptr;                   ///< of an optional: 0 or 1
  const void* (*at)(const void*, std::size_t) = nullptr;        ///< an item
  std::string_view (*key)(const void*, std::size_t) = nullptr;  ///< of an item of a map
  void* (*add)(void*, std::string_view key) = nullptr;          ///< a new item; the key is of maps only
  void (*clear)(void*) = nullptr;
};

namespace type_parts {

template <typename T>
inline constexpr bool kOptional = false;
template <typename T>
inline constexpr bool kOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kList = false;
template <typename T>
inline constexpr bool kList<std::vector<T>> = true;
template <typename T>
inline constexpr bool kMap = false;
template <typename T>
inline constexpr bool kMap<std::map<std::string, T>> = true;

}  // namespace type_parts

template <typename T>
constexpr Type make_type();
template <typename T>
inline constexpr Type kTypeOf = make_type<T>();

template <typename T>
constexpr Type make_list() {
  using Item = typename T::value_type;
  static_assert(!std::is_same_v<Item, bool>, "std::vector<bool> has no items to point to");
  Type type{.kind = Type::Kind::list};
  type.size = [](const void* list) { return static_cast<const T*>(list)->size(); };
  type.at = [](const void* list, std::size_t i) -> const void* { return &(*static_cast<const T*>(list))[i]; };
  if constexpr (std::is_default_constructible_v<Item>) {
    type.add = [](void* list, std::string_view /*key*/) -> void* { return &static_cast<T*>(list)->emplace_back(); };
  }
  type.clear = [](void* list) { static_cast<T*>(list)->clear(); };
  type.item = &kTypeOf<Item>;
  return type;
}

template <typename T>
constexpr Type make_type() {
  using Kind = Type::Kind;
  if constexpr (std::is_same_v<T, std::string>) {
    return {.kind = Kind::text};
  } else if constexpr (std::is_same_v<T, double>) {
    return {.kind = Kind::real};
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    Type type{.kind = std::is_same_v<T, bool> ? Kind::boolean : Kind::whole, .is_unsigned = std::is_unsigned_v<T>};
    type.load = [](const void* value) { return static_cast<std::int64_t>(*static_cast<const T*>(value)); };
    type.store = [](void* value, std::int64_t whole) {
      *static_cast<T*>(value) = static_cast<T>(whole);
      return static_cast<std::int64_t>(*static_cast<T*>(value)) == whole && (std::is_signed_v<T> || whole >= 0);
    };
    if constexpr (Named<T>) {
      type.kind = Kind::name;
      type.names = names_of(T{});
    }
    return type;
  } else if constexpr (type_parts::kOptional<T>) {
    Type type{.kind = Kind::optional, .item = &kTypeOf<typename T::value_type>};
    type.size = [](const void* value) -> std::size_t { return static_cast<const T*>(value)->has_value() ? 1 : 0; };
    type.at = [](const void* value, std::size_t) -> const void* { return &**static_cast<const T*>(value); };
    type.add = [](void* value, std::string_view) -> void* { return &static_cast<T*>(value)->emplace(); };
    type.clear = [](void* value) { static_cast<T*>(value)->reset(); };
    return type;
  } else if constexpr (type_parts::kList<T>) {
    return make_list<T>();
  } else if constexpr (type_parts::kMap<T>) {
    Type type{.kind = Kind::map, .item = &kTypeOf<typename T::mapped_type>};
    type.size = [](const void* map) { return static_cast<const T*>(map)->size(); };
    type.at = [](const void* map, std::size_t i) -> const void* {
      return &std::next(static_cast<const T*>(map)->begin(), static_cast<std::ptrdiff_t>(i))->second;
    };
    type.key = [](const void* map, std::size_t i) -> std::string_view {
      return std::next(static_cast<const T*>(map)->begin(), static_cast<std::ptrdiff_t>(i))->first;
    };
    type.add = [](void* map, std::string_view key) -> void* { return &(*static_cast<T*>(map))[std::string(key)]; };
    type.clear = [](void* map) { static_cast<T*>(map)->clear(); };
    return type;
  } else {
    static_assert(std::is_class_v<T>, "no such kind of field");
    return {};
  }
}

/// A list whose items carry their keys: std::pair<std::string, ...>, or a struct with its key in `kKey`.
template <typename List, auto kKey, auto kValue>
constexpr Type make_map() {
  Type type = make_list<List>();
  type.kind = Type::Kind::map;
  type.key = [](const void* list, std::size_t i) -> std::string_view {
    return (*static_cast<const List*>(list))[i].*kKey;
  };
  type.add = [](void* list, std::string_view key) -> void* {
    auto& item = static_cast<List*>(list)->emplace_back();
    item.*kKey = std::string(key);
    if constexpr (std::is_null_pointer_v<decltype(kValue)>) {
      return &item;
    } else {
      return &(item.*kValue);
    }
  };
  if constexpr (!std::is_null_pointer_v<decltype(kValue)>) {
    type.at = [](const void* list, std::size_t i) -> const void* {
      return &((*static_cast<const List*>(list))[i].*kValue);
    };
    type.item = &kTypeOf<typename List::value_type::second_type>;
  }
  return type;
}
template <typename List, auto kKey, auto kValue>
inline constexpr Type kMapOf = make_map<List, kKey, kValue>();

}  // namespace warpmark
