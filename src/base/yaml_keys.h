// The keys of a map in a YAML file, declared once: a table of their names, of the members that they give and of how
// they are written. YamlReader::fill reads a map by it:
//
//   constexpr YamlKey kSuiteKeys[] = {
//       yaml_schema(kSuiteSchema),
//       yaml_key<&Suite::name>("name").needed(),
//       yaml_key<&Suite::rounds>("rounds", yaml::whole(1, 100)),
//       yaml_key<read_cases>("cases"),  // by a function (YamlReader, YamlNode, YamlKey, Suite&)
//       yaml_key("sweep"),              // allowed here, read elsewhere
//   };
//   WM_TRY(reader.fill(root, "a suite must be a map with the key 'cases'", kSuiteKeys, suite));
//
// The member's type decides what is read: a text, a truth value, a number, a name of an enumeration (names_of), a list
// of texts (or one text alone), a map of texts, or a struct with a table of its own.
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/members.h"
#include "base/yaml.h"

namespace warpmark {

/// How a value is written, where its type leaves that open.
struct YamlForm {
  enum class Kind : unsigned char { by_type, positive, one_line, duration, duration_or_zero, ratio, quantity };
  Kind kind = Kind::by_type;
  const char* text = "";  ///< the only words; a unit; an example of a map of texts; of a struct the error for no map
  std::int64_t least = INT64_MIN;  ///< of whole numbers
  std::int64_t most = INT64_MAX;
  std::span<const YamlKey> (*keys)() = nullptr;  ///< of a struct
};

namespace yaml {
/// Numbers of these have to be above 0, but for duration_or_zero.
inline constexpr YamlForm positive{YamlForm::Kind::positive};
inline constexpr YamlForm duration{YamlForm::Kind::duration};
inline constexpr YamlForm duration_or_zero{YamlForm::Kind::duration_or_zero};
inline constexpr YamlForm ratio{YamlForm::Kind::ratio};
constexpr YamlForm quantity(const char* unit) { return {YamlForm::Kind::quantity, unit}; }
constexpr YamlForm whole(std::int64_t least, std::int64_t most) { return {.least = least, .most = most}; }
/// Text without control characters; one of "these, words"; a map of texts, with an example for errors.
inline constexpr YamlForm one_line{YamlForm::Kind::one_line};
constexpr YamlForm words(const char* joined) { return {.text = joined}; }
constexpr YamlForm like(const char* example) { return {.text = example}; }
/// A struct, by the table `kKeys`.
template <const auto& kKeys>
constexpr YamlForm map(const char* no_map) {
  return {.text = no_map, .keys = [] { return std::span<const YamlKey>(kKeys); }};
}
}  // namespace yaml

struct YamlKey {
  const char* key;
  Status (*read)(const YamlReader&, const YamlNode&, const YamlKey&, void* owner) = nullptr;
  const void* owner = nullptr;  ///< stands for the struct that has the member
  YamlForm form{};
  const char* missing = nullptr;  ///< the error where the key is absent
  const char* hint = "";

  /// A map without the key is refused: "there is no KEY", or what is said here.
  [[nodiscard]] constexpr YamlKey needed(const char* what = "", const char* fix = "") const {
    return {key, read, owner, form, what, fix};
  }
};

namespace yaml_parts {

/// A member, or a function that reads into a struct.
template <typename T>
struct OwnerOf : std::type_identity<typename members::MemberOf<T>::Owner> {};
template <typename Class>
struct OwnerOf<Status (*)(const YamlReader&, const YamlNode&, const YamlKey&, Class&)> : std::type_identity<Class> {};

template <typename T>
Status read_value(const YamlReader& reader, const YamlNode& node, const YamlKey& key, T& into) {
  if constexpr (requires { reader.value(node, key, into); }) {
    return reader.value(node, key, into);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    WM_ASSIGN(into, reader.texts(node, key.key));
  } else if constexpr (std::is_integral_v<T>) {
    std::int64_t whole = 0;
    WM_TRY(reader.value(node, key, whole));
    into = static_cast<T>(whole);
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<std::string> words;
    for (const auto& name : names_of(into)) words.emplace_back(name.text);
    WM_ASSIGN(const auto word, reader.one_of(node, key.key, words));
    const auto at = std::ranges::find(words, word) - words.begin();
    into = static_cast<T>(names_of(into)[static_cast<std::size_t>(at)].value);
  } else if constexpr (std::is_assignable_v<T&, std::string>) {
    WM_ASSIGN(into, reader.scalar(node, key.key));
  } else {
    return reader.fill_members(node, key.form.text, key.form.keys(), &into);
  }
  return {};
}

template <auto kMember, auto kRead>
Status read(const YamlReader& reader, const YamlNode& node, const YamlKey& key, void* owner_of_any) {
  auto& owner = *static_cast<typename OwnerOf<decltype(kMember)>::type*>(owner_of_any);
  if constexpr (!std::is_member_object_pointer_v<decltype(kMember)>) {
    return kMember(reader, node, key, owner);
  } else if constexpr (std::is_null_pointer_v<decltype(kRead)>) {
    return read_value(reader, node, key, owner.*kMember);
  } else {
    return kRead(reader, node, key, owner.*kMember);
  }
}

}  // namespace yaml_parts

/// Gives this member, read by the second function where there is one; or is read by the first function alone.
template <auto kMember, auto kRead = nullptr>
[[nodiscard]] constexpr YamlKey yaml_key(const char* key, const YamlForm& form = {}) {
  using Owner = typename yaml_parts::OwnerOf<decltype(kMember)>::type;
  return {key, &yaml_parts::read<kMember, kRead>, &members::kTag<Owner>, form};
}
[[nodiscard]] constexpr YamlKey yaml_key(const char* key) { return {key}; }
/// "schema", which may be absent.
[[nodiscard]] constexpr YamlKey yaml_schema(const char* expected) {
  const auto read = [](const YamlReader& reader, const YamlNode& node, const YamlKey& key, void*) -> Status {
    WM_ASSIGN(const auto found, reader.scalar(node, key.key));
    if (found == key.form.text) return {};
    return reader.error(node, "schema '" + found + "' is not known", std::string("use ") + key.form.text);
  };
  return {"schema", read, nullptr, {.text = expected}};
}

template <typename Keys, typename Owner>
Status YamlReader::fill(const YamlNode& map, const std::string& no_map, const Keys& keys, Owner& into) const {
  for (const YamlKey& key : keys) WM_CHECK(key.owner == nullptr || key.owner == &members::kTag<Owner>);
  return fill_members(map, no_map, keys, &into);
}

}  // namespace warpmark
