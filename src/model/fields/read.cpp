// Reading a result by its table.
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark {
namespace {

/// Where a value stands: its path is written only for an error.
struct Place {
  const Place* outer;
  std::string_view key;
  std::optional<std::size_t> index;
};

std::string path_of(const Place& place) {
  std::string path = place.outer == nullptr ? "" : path_of(*place.outer);
  if (place.index) return path + "[" + std::to_string(*place.index) + "]";
  if (!path.empty() && !place.key.empty()) path += ".";
  return path + std::string(place.key);
}

Status failed(const Place& place, const std::string& what) { return data_error(path_of(place) + " " + what); }

Status must_be(const Place& place, const char* what, const Json& json) {
  std::string text = std::string("must be ") + what;
  if (!place.index) text += std::string(", not ") + json.type_name() + " " + dump_json(json, -1).substr(0, 40);
  return failed(place, text);
}

const Json* find(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

Status read_fields(const Record& record, const Json& json, void* value, const Place& place);
Status read_value(const Field& field, const Type& type, const Json& json, void* value, const Place& place);

Status read_whole(const Field& field, const Type& type, const Json& json, void* value, const Place& place) {
  constexpr const char* kWhole = "a whole number that fits";
  if (field.scale != 0) {
    if (!json.is_number()) return must_be(place, "a number", json);
    const double whole = std::round(json.get<double>() / field.scale);
    constexpr double kLargest = 9.2e18;
    if (!(std::abs(whole) < kLargest)) return must_be(place, "a number that fits", json);
    type.store(value, static_cast<std::int64_t>(whole));
    return {};
  }
  if (!json.is_number_integer()) return must_be(place, kWhole, json);
  const auto whole = json.get<std::int64_t>();
  if (json.is_number_unsigned() && whole < 0) return must_be(place, kWhole, json);
  return type.store(value, whole) ? Status() : must_be(place, kWhole, json);
}

Status read_decimal(const Type& type, const Json& json, void* value, const Place& place) {
  if (!json.is_string()) return must_be(place, "a text", json);
  const auto& text = json.get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty()) return {};
  if (status != std::errc{} || end != text.data() + text.size()) {
    return failed(place, "must be a 64-bit number as decimal text, not '" + text + "'");
  }
  type.store(value, static_cast<std::int64_t>(number));
  return {};
}

Status read_name(Names names, const Type& type, const Json& json, void* value, const Place& place) {
  if (!json.is_string()) return must_be(place, "a text", json);
  const auto& text = json.get_ref<const std::string&>();
  const auto named = value_in(names, text);
  if (!named) return failed(place, "cannot be '" + text + "'");
  type.store(value, *named);
  return {};
}

Status read_list(const Field& field, const Type& type, const Json& json, void* value, const Place& place) {
  if (!json.is_array()) return failed(place, std::string("must be an array, not ") + json.type_name());
  type.clear(value);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Place item{&place, {}, i};
    WM_TRY(read_value(field, *type.item, json[i], type.add(value, {}), item));
  }
  return {};
}

Status read_map(const Field& field, const Type& type, const Json& json, void* value, const Place& place) {
  if (!json.is_object()) return failed(place, std::string("must be an object, not ") + json.type_name());
  type.clear(value);
  for (const auto& [key, one] : json.items()) {
    const Place item{&place, key, {}};
    WM_TRY(read_value(field, *type.item, one, type.add(value, key), item));
  }
  return {};
}

Status read_value(const Field& field, const Type& type, const Json& json, void* value, const Place& place) {
  using Kind = Type::Kind;
  if (field.form != nullptr && type.item == nullptr) {
    const char* expected = field.form->read(json, value);
    return expected == nullptr ? Status() : must_be(place, expected, json);
  }
  if (field.decimal) return read_decimal(type, json, value, place);
  if (!field.names.empty() && type.load != nullptr) return read_name(field.names, type, json, value, place);
  switch (type.kind) {
    case Kind::text:
      if (!json.is_string()) return must_be(place, "a text", json);
      *static_cast<std::string*>(value) = json.get_ref<const std::string&>();
      return {};
    case Kind::boolean:
      if (!json.is_boolean()) return must_be(place, "true or false", json);
      type.store(value, json.get<bool>() ? 1 : 0);
      return {};
    case Kind::real:
      if (!json.is_number()) return must_be(place, "a number", json);
      *static_cast<double*>(value) = json.get<double>();
      return {};
    case Kind::whole: return read_whole(field, type, json, value, place);
    case Kind::name: return read_name(type.names, type, json, value, place);
    case Kind::optional: return read_value(field, *type.item, json, type.add(value, {}), place);
    case Kind::list: return read_list(field, type, json, value, place);
    case Kind::map: return read_map(field, type, json, value, place);
    case Kind::part: break;
  }
  return read_fields(*field.record, json, value, place);
}

bool applies(const Field& field, const void* owner) { return field.condition == nullptr || field.condition(owner); }

Status read_inlined(const Field& field, const Json& json, void* value, const Place& place) {
  if (field.type->kind != Type::Kind::optional) return read_fields(*field.record, json, value, place);
  if (find(json, field.record->fields.front().key) == nullptr) return {};
  return read_fields(*field.record, json, field.type->add(value, {}), place);
}

bool is_required(const Field& field, const void* owner) {
  return field.presence == Presence::always && field.type->kind != Type::Kind::optional && applies(field, owner);
}

Status read_field(const Field& field, const Json& json, void* owner, const Place& outer) {
  void* value = const_cast<void*>(field.member(owner));  // a member of what is filled here, and not constant
  if (field.key == nullptr) {
    return applies(field, owner) ? read_inlined(field, json, value, outer) : Status();
  }
  bool found = false;
  for (const char* key : {field.former_key, field.key}) {
    const Json* own = key == nullptr ? nullptr : find(json, key);
    if (own == nullptr) continue;
    found = true;
    WM_TRY(read_value(field, *field.type, *own, value, Place{&outer, key, {}}));
  }
  return found || !is_required(field, owner) ? Status() : failed(Place{&outer, field.key, {}}, "is missing");
}

Status read_fields(const Record& record, const Json& json, void* value, const Place& place) {
  if (!json.is_object()) {
    const std::string path = path_of(place);
    return data_error((path.empty() ? std::string("the document") : path) + " must be an object, not " +
                      json.type_name());
  }
  if (record.schema != nullptr) {
    const Json* schema = find(json, "schema");
    if (schema == nullptr) return failed(Place{&place, "schema", {}}, "is missing");
    if (!schema->is_string()) return must_be(Place{&place, "schema", {}}, "a text", *schema);
    if (*schema != record.schema) {
      return data_error("the schema is '" + schema->get<std::string>() + "', but this version reads " + record.schema,
                        "use the version of warpmark that wrote it, or a newer one");
    }
  }
  for (const Field& field : record.fields) {
    if (field.member == nullptr) continue;
    WM_TRY(read_field(field, json, value, place));
  }
  return {};
}

}  // namespace

Status read_value(const Field& field, const Json& json, void* value, const std::string& path) {
  return read_value(field, *field.type, json, value, Place{nullptr, path, {}});
}

Status read_record(const Record& record, const Json& json, void* value, const std::string& path) {
  return read_fields(record, json, value, Place{nullptr, path, {}});
}

}  // namespace warpmark
