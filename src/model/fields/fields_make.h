// What makes the tables of fields.h: field, derived, inlined, group, keyed. Only the one-line functions by which a
// member is reached are compiled for each field; all that writes and reads is compiled once.
#pragma once

#include "base/members.h"
#include "model/fields/fields.h"

namespace warpmark {
namespace fields {

using members::kTag;
using members::MemberOf;

template <typename Function>
struct CallOf : CallOf<decltype(&Function::operator())> {};
template <typename Function, typename Result, typename Argument>
struct CallOf<Result (Function::*)(const Argument&) const> {
  using Owner = Argument;
  using Value = std::remove_cvref_t<Result>;
};

/// A member, or a member of a member.
template <auto kFirst, auto... kRest>
struct Path {
  using Owner = typename MemberOf<decltype(kFirst)>::Owner;
  static constexpr const auto& of(const Owner& owner) { return ((owner.*kFirst).*....*kRest); }
  static const void* get(const void* owner) { return &of(*static_cast<const Owner*>(owner)); }
  using Value = std::remove_cvref_t<decltype(of(std::declval<const Owner&>()))>;
};

/// The struct in an optional, a list, a list of lists.
template <typename T>
struct PartOf : std::type_identity<T> {};
template <typename T>
struct PartOf<std::optional<T>> : PartOf<T> {};
template <typename T>
struct PartOf<std::vector<T>> : PartOf<T> {};
template <typename T>
struct PartOf<std::map<std::string, T>> : PartOf<T> {};

template <typename Value>
constexpr bool kTextLike = std::is_same_v<Value, const char*> || std::is_same_v<Value, std::string_view>;

template <typename Compute>
void compute(const void* owner, const Field& field, Json& out) {
  using Call = CallOf<Compute>;
  decltype(auto) value = Compute{}(*static_cast<const typename Call::Owner*>(owner));
  if constexpr (kTextLike<typename Call::Value>) {
    const std::string text(value);
    put_field(field, &text, out);
  } else {
    put_field(field, &value, out);
  }
}

}  // namespace fields

template <auto... kMembers>
[[nodiscard]] constexpr Field field(const char* key, const char* meaning = "") {
  using Path = fields::Path<kMembers...>;
  return {key,     meaning,   &kTypeOf<typename Path::Value>, &fields::kTag<typename Path::Owner>, nullptr,
          nullptr, &Path::get};
}

template <auto... kMembers, typename T>
[[nodiscard]] constexpr Field field(const char* key, const char* meaning, const RecordOf<T>& record) {
  static_assert(std::is_same_v<T, typename fields::PartOf<typename fields::Path<kMembers...>::Value>::type>);
  return field<kMembers...>(key, meaning).with(&Field::record, &record);
}

/// The keys of a member that is a struct, among those of its owner. Those of an optional are there together or not at
/// all.
template <auto... kMembers, typename T>
[[nodiscard]] constexpr Field inlined(const RecordOf<T>& record) {
  return field<kMembers...>(nullptr, "", record);
}

/// An object for some fields of the same struct.
template <typename T>
[[nodiscard]] constexpr Field group(const char* key, const char* meaning, const RecordOf<T>& record) {
  Field made{key, meaning, &kTypeOf<T>, &fields::kTag<T>, &record};
  made.member = [](const void* owner) { return owner; };
  return made;
}

/// A list as an object, with these members of its items as keys, and these (else the items themselves) as values.
template <auto kList, auto kKey, auto kValue = nullptr>
[[nodiscard]] constexpr Field keyed(const char* key, const char* meaning = "") {
  using Path = fields::Path<kList>;
  return field<kList>(key, meaning).with(&Field::type, &kMapOf<typename Path::Value, kKey, kValue>);
}
template <auto kList, auto kKey, auto kValue = nullptr, typename T>
[[nodiscard]] constexpr Field keyed(const char* key, const char* meaning, const RecordOf<T>& record) {
  return keyed<kList, kKey, kValue>(key, meaning).with(&Field::record, &record);
}

/// What is computed from the struct, and not read.
template <typename Compute>
[[nodiscard]] constexpr Field derived(const char* key, const char* meaning, Compute) {
  using Call = fields::CallOf<Compute>;
  using Value = std::conditional_t<fields::kTextLike<typename Call::Value>, std::string, typename Call::Value>;
  Field made{key, meaning, &kTypeOf<Value>, &fields::kTag<typename Call::Owner>};
  made.compute = &fields::compute<Compute>;
  return made;
}
template <typename Compute, typename T>
[[nodiscard]] constexpr Field derived(const char* key, const char* meaning, const RecordOf<T>& record,
                                      Compute made_by) {
  return derived(key, meaning, made_by).with(&Field::record, &record);
}

template <typename Holds>
constexpr Field Field::when(Holds) const {
  using Owner = typename fields::CallOf<Holds>::Owner;
  return with(&Field::condition, [](const void* value) { return Holds{}(*static_cast<const Owner*>(value)); });
}

template <typename Compute>
constexpr Field Field::written_as(Compute) const {
  return with(&Field::compute, &fields::compute<Compute>);
}

template <typename T>
template <std::size_t kCount>
constexpr RecordOf<T>::RecordOf(const char* its_name, const char* its_meaning, const Field (&its_fields)[kCount],
                                const char* its_schema, const char* its_rules)
    : Record{its_name, its_meaning, its_fields, its_schema, its_rules} {
  for (const Field& one : its_fields) WM_CHECK(one.owner == &fields::kTag<T>);  // of another struct: does not compile
}

template <typename T, typename Document>
Document write(const RecordOf<T>& record, const T& value) {
  return write_record(record, &value);
}

template <typename T>
Result<T> read(const RecordOf<T>& record, const Json& json) {
  T value;
  WM_TRY(read_record(record, json, &value));
  return value;
}

}  // namespace warpmark
