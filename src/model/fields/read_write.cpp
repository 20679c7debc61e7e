// Writing a result by its table.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark {
namespace {

void write_fields(const Record& record, const void* value, Json& out);

Json number_json(double value) {
  WM_CHECK(std::isfinite(value));
  return value;
}

Json whole_json(const Field& field, const Type& type, std::int64_t value) {
  if (field.decimal) return std::to_string(static_cast<std::uint64_t>(value));
  if (field.scale != 0) return number_json(static_cast<double>(value) * field.scale);
  return type.is_unsigned ? Json(static_cast<std::uint64_t>(value)) : Json(value);
}

Json list_json(const Field& field, const Type& type, const void* value);
Json map_json(const Field& field, const Type& type, const void* value);

Json value_json(const Field& field, const Type& type, const void* value) {
  using Kind = Type::Kind;
  if (field.form != nullptr && type.item == nullptr) return field.form->write(value);
  if (!field.names.empty() && type.load != nullptr) return name_in(field.names, type.load(value));
  switch (type.kind) {
    case Kind::text: return *static_cast<const std::string*>(value);
    case Kind::boolean: return type.load(value) != 0;
    case Kind::whole: return whole_json(field, type, type.load(value));
    case Kind::real: return number_json(*static_cast<const double*>(value));
    case Kind::name: return name_in(type.names, type.load(value));
    case Kind::optional: return value_json(field, *type.item, type.at(value, 0));
    case Kind::list: return list_json(field, type, value);
    case Kind::map: return map_json(field, type, value);
    case Kind::part: break;
  }
  WM_CHECK(field.record != nullptr);
  return write_record(*field.record, value);
}

Json list_json(const Field& field, const Type& type, const void* value) {
  Json list = Json::array();
  const std::size_t size = type.size(value);
  list.get_ref<Json::array_t&>().reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(value_json(field, *type.item, type.at(value, i)));
  return list;
}

Json map_json(const Field& field, const Type& type, const void* value) {
  Json map = Json::object();
  for (std::size_t i = 0; i < type.size(value); ++i) {
    map[std::string(type.key(value, i))] = value_json(field, *type.item, type.at(value, i));
  }
  return map;
}

bool is_empty(const Type& type, const void* value) {
  using Kind = Type::Kind;
  if (type.kind == Kind::text) return static_cast<const std::string*>(value)->empty();
  if (type.kind == Kind::real) return *static_cast<const double*>(value) == 0;
  if (type.load != nullptr) return type.load(value) == 0;
  return type.size != nullptr && type.size(value) == 0;
}

void write_field(const Field& field, const void* owner, Json& out) {
  if (field.unwritten || (field.condition != nullptr && !field.condition(owner))) return;
  if (field.compute != nullptr) {
    field.compute(owner, field, out);
  } else {
    put_field(field, field.member(owner), out);
  }
}

void write_fields(const Record& record, const void* value, Json& out) {
  if (record.schema != nullptr) out["schema"] = record.schema;
  for (const Field& field : record.fields) write_field(field, value, out);
}

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

void put_field(const Field& field, const void* value, Json& out) {
  const bool optional = field.type->kind == Type::Kind::optional;
  if (optional && field.type->size(value) == 0) return;
  if (field.key == nullptr) {
    write_fields(*field.record, optional ? field.type->at(value, 0) : value, out);
    return;
  }
  const bool unless_empty = field.presence == Presence::unless_empty;
  if (unless_empty && is_empty(*field.type, value)) return;
  Json json = value_json(field, *field.type, value);
  if (unless_empty && field.type->kind == Type::Kind::part && json.empty()) return;
  out[field.key] = std::move(json);
}

Json write_record(const Record& record, const void* value) {
  Json json = Json::object();
  write_fields(record, value, json);
  return json;
}

// Reading a result by its table.

Status read_value(const Field& field, const Json& json, void* value, const std::string& path) {
  return read_value(field, *field.type, json, value, Place{nullptr, path, {}});
}

Status read_record(const Record& record, const Json& json, void* value, const std::string& path) {
  return read_fields(record, json, value, Place{nullptr, path, {}});
}

}  // namespace warpmark
