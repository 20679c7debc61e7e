// The fields of a result, declared once: one table beside the struct, from which its JSON is written and read and its
// schema (docs/schema) is made. A new column is a member of the struct and one line of its table:
//
//   constexpr Field kPointFields[] = {
//       field<&Point::session>("session", "Its id."),
//       field<&Point::value>("value", "Median of its samples.").within(kNonNegative),
//       field<&Point::commit>("commit", "").unless_empty(),
//       derived("slow", "", [](const Point& point) { return point.value > 1; }),
//   };
//   constexpr RecordOf<Point> kPoint{"point", "One session.", kPointFields};
#pragma once

#include "base/json_fwd.h"
#include "base/range.h"
#include "base/result.h"
#include "model/fields/type.h"

namespace warpmark {

/// The form of a value that no table describes.
struct Form {
  Json (*write)(const void* value);
  /// Returns what the value must be, if it is not that.
  const char* (*read)(const Json& json, void* value);
  const char* schema;  ///< as JSON; nullptr: that of the field's record
};

struct Record;

enum class Presence : unsigned char {
  always,        ///< a document without it is refused. An optional without a value has no key.
  added_later,   ///< written always; files of before may lack it
  unless_empty,  ///< no key for an empty text, list or object, 0 or false
};

struct Field {
  const char* key;      ///< nullptr: the keys of its record stand among those of the owner
  const char* meaning;  ///< sentences for the schema, or ""
  const Type* type;
  const void* owner;               ///< the tag of the struct that has it
  const Record* record = nullptr;  ///< of the parts in the value
  const Form* form = nullptr;
  const void* (*member)(const void* owner) = nullptr;  ///< nullptr if it is only written
  void (*compute)(const void* owner, const Field& field, Json& out) = nullptr;
  bool (*condition)(const void* owner) = nullptr;
  Presence presence = Presence::always;
  const Range* range = nullptr;
  const char* rules = nullptr;
  const char* former_key = nullptr;
  double scale = 0;
  bool decimal = false;
  bool unwritten = false;
  Names names;

  template <typename Value>
  [[nodiscard]] constexpr Field with(Value Field::*part, std::type_identity_t<Value> value) const {
    Field changed = *this;
    changed.*part = value;
    return changed;
  }
  [[nodiscard]] constexpr Field unless_empty() const { return with(&Field::presence, Presence::unless_empty); }
  [[nodiscard]] constexpr Field added_later() const { return with(&Field::presence, Presence::added_later); }
  [[nodiscard]] constexpr Field within(const Range& numbers) const { return with(&Field::range, &numbers); }
  /// Read, too, under the key that it has in files of before.
  [[nodiscard]] constexpr Field formerly(const char* old_key) const { return with(&Field::former_key, old_key); }
  /// Another one writes this key.
  [[nodiscard]] constexpr Field only_read() const { return with(&Field::unwritten, true); }
  /// A whole number that is written times `factor`: nanoseconds as seconds.
  [[nodiscard]] constexpr Field scaled(double factor) const { return with(&Field::scale, factor); }
  /// A 64-bit number as text, as doubles hold 53 bits of it.
  [[nodiscard]] constexpr Field decimal_text() const { return with(&Field::decimal, true); }
  /// A number or boolean that is written as one of these names.
  [[nodiscard]] constexpr Field named(Names all) const { return with(&Field::names, all); }
  /// Further keywords of its schema, as JSON: {"minItems": 1}.
  [[nodiscard]] constexpr Field ruled(const char* keywords) const { return with(&Field::rules, keywords); }
  [[nodiscard]] constexpr Field formed(const Form& own) const { return with(&Field::form, &own); }
  /// Not there where this does not hold of the struct.
  template <typename Holds>
  [[nodiscard]] constexpr Field when(Holds) const;
  /// Written as what this returns, and read as a member.
  template <typename Compute>
  [[nodiscard]] constexpr Field written_as(Compute) const;
};

/// A struct, as JSON.
struct Record {
  const char* name;     ///< among the definitions of a schema
  const char* meaning;  ///< what the document is, or ""
  std::span<const Field> fields;
  const char* schema = nullptr;  ///< of a document of its own: "warpmark.check/1"
  const char* rules = nullptr;   ///< further keywords of its schema, as JSON: what holds between fields
};

template <typename T>
struct RecordOf : Record {
  template <std::size_t kCount>
  constexpr RecordOf(const char* its_name, const char* its_meaning, const Field (&its_fields)[kCount],
                     const char* its_schema = nullptr, const char* its_rules = nullptr);
};

/// A non-finite number is our own bug (WM_CHECK), as it has no JSON form.
[[nodiscard]] Json write_record(const Record& record, const void* value);
/// Data error naming the missing or mistyped key by its path. Unknown keys are ignored.
[[nodiscard]] Status read_record(const Record& record, const Json& json, void* value, const std::string& path = "");
/// One value, of which `field` says the form.
[[nodiscard]] Status read_value(const Field& field, const Json& json, void* value, const std::string& path);
/// JSON Schema, draft 7.
[[nodiscard]] Json schema_of(const Record& document);
/// The same, as it stands in docs/schema.
[[nodiscard]] std::string schema_text(const Json& schema);

template <typename T, typename Document = Json>  // which is complete where it is called
[[nodiscard]] Document write(const RecordOf<T>& record, const T& value);
template <typename T>
[[nodiscard]] Result<T> read(const RecordOf<T>& record, const Json& json);

/// Adds the field with this value, for computed ones.
void put_field(const Field& field, const void* value, Json& out);

}  // namespace warpmark

#include "model/fields/fields_make.h"
