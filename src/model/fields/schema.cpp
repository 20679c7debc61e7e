// The JSON Schema of a result, made from its table.
#include <map>

#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark {
namespace {

class SchemaBuilder {
 public:
  Json object(const Record& record) {
    Json properties = Json::object();
    Json required = Json::array();
    if (record.schema != nullptr) {
      properties["schema"] = {{"const", record.schema}};
      required.push_back("schema");
    }
    Json dependencies = Json::object();
    add_fields(record, properties, required, dependencies);
    Json json{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) json["required"] = std::move(required);
    json["additionalProperties"] = false;
    if (!dependencies.empty()) json["dependencies"] = std::move(dependencies);
    if (record.rules != nullptr) json.update(Json::parse(record.rules));
    return json;
  }

  [[nodiscard]] Json take_definitions() { return std::move(definitions_); }

 private:
  void add_fields(const Record& record, Json& properties, Json& required, Json& dependencies) {
    for (const Field& field : record.fields) {
      if (field.unwritten) continue;
      const bool there = field.condition == nullptr && field.presence != Presence::unless_empty &&
                         field.type->kind != Type::Kind::optional;
      if (field.key == nullptr) {
        Json together = Json::array();
        add_fields(*field.record, properties, there ? required : together, dependencies);
        if (!together.empty()) require_together(together, dependencies);
        continue;
      }
      Json property = value(field, *field.type);
      if (field.rules != nullptr) property.update(Json::parse(field.rules));
      if (*field.meaning != '\0') property["description"] = field.meaning;
      properties[field.key] = std::move(property);
      if (there) required.push_back(field.key);
    }
  }

  /// Keys of a part that is not always there: the first with all others, and none without the first.
  static void require_together(const Json& keys, Json& dependencies) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      dependencies[keys[0].get<std::string>()].push_back(keys[i]);
      dependencies[keys[i].get<std::string>()].push_back(keys[0]);
    }
  }

  Json value(const Field& field, const Type& type) {
    using Kind = Type::Kind;
    if (field.form != nullptr && type.item == nullptr && field.form->schema != nullptr) {
      return Json::parse(field.form->schema);
    }
    if (!field.names.empty() && type.load != nullptr) return names(field.names);
    switch (type.kind) {
      case Kind::text:
        if (field.range != nullptr) return {{"type", "string"}, {"minLength", bound(*field.range->low)}};
        return {{"type", "string"}};
      case Kind::boolean:
        if (field.presence == Presence::unless_empty) return {{"const", true}};
        return {{"type", "boolean"}};
      case Kind::whole:
        if (field.decimal) return {{"type", "string"}, {"pattern", "^[0-9]+$"}};
        return number(field, field.scale != 0 ? "number" : "integer");
      case Kind::real: return number(field, "number");
      case Kind::name: return names(type.names);
      case Kind::optional: return value(field, *type.item);
      case Kind::list: return {{"type", "array"}, {"items", value(field, *type.item)}};
      case Kind::map: return {{"type", "object"}, {"additionalProperties", value(field, *type.item)}};
      case Kind::part: break;
    }
    return reference(*field.record);
  }

  static Json names(Names all) {
    Json list = Json::array();
    for (const Name& name : all) {
      if (name.text == std::string_view(name_in(all, name.value))) list.push_back(name.text);
    }
    return {{"enum", std::move(list)}};
  }

  static Json number(const Field& field, const char* type) {
    Json json{{"type", type}};
    if (field.range == nullptr) return json;
    const Range& range = *field.range;
    if (range.low) json[range.above_low ? "exclusiveMinimum" : "minimum"] = bound(*range.low);
    if (range.high) json[range.below_high ? "exclusiveMaximum" : "maximum"] = bound(*range.high);
    return json;
  }

  static Json bound(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
  }

  Json reference(const Record& record) {
    const auto [known, is_new] = records_.emplace(record.name, &record);
    WM_CHECK(known->second == &record);  // two records of one document have one name
    if (is_new) {
      definitions_[record.name] = nullptr;  // those that it refers to come after it
      Json definition = object(record);
      if (*record.meaning != '\0') definition["description"] = record.meaning;
      definitions_[record.name] = std::move(definition);
    }
    return {{"$ref", std::string("#/definitions/") + record.name}};
  }

  Json definitions_ = Json::object();
  std::map<std::string_view, const Record*> records_;
};

/// As people write it: what fits on a line stands on one.
void append_text(std::string& text, const Json& json, std::size_t indent) {
  constexpr std::size_t kColumns = 120;
  const std::string line = dump_json(json, -1);
  if (indent + line.size() <= kColumns || json.is_primitive()) {
    text += line;
    return;
  }
  const std::string margin(indent + 2, ' ');
  text += json.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += (first ? "\n" : ",\n") + margin;
    first = false;
    if (json.is_object()) text += dump_json(Json(key), -1) + ": ";
    append_text(text, value, indent + 2);
  }
  text += "\n" + std::string(indent, ' ') + (json.is_array() ? "]" : "}");
}

}  // namespace

Json schema_of(const Record& document) {
  SchemaBuilder builder;
  Json json{{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", document.schema != nullptr ? document.schema : document.name}};
  if (*document.meaning != '\0') json["description"] = document.meaning;
  json.update(builder.object(document));
  json["definitions"] = builder.take_definitions();
  return json;
}

std::string schema_text(const Json& schema) {
  std::string text;
  append_text(text, schema, 0);
  return text + "\n";
}

}  // namespace warpmark
