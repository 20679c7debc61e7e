// Writing a result by its table.
#include <algorithm>
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

}  // namespace warpmark
