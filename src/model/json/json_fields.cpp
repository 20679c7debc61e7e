#include "model/json/json_fields.h"

#include "model/json/json_parts.h"

namespace warpmark {

JsonFields::JsonFields(const Json& json, std::string path, std::optional<Error>& error)
    : json_(&json), path_(std::move(path)), error_(error) {
  if (json.is_object() || error_) return;
  error_ =
      data_error((path_.empty() ? std::string("the document") : path_) + " must be an object, not " + json.type_name());
}

std::string JsonFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void JsonFields::fail(std::string_view key, const std::string& what) {
  if (!error_) error_ = data_error(path_of(key) + " " + what);
}

void JsonFields::keep(const Status& status) {
  if (!error_ && !status.ok()) error_ = status.error();
}

const Json* JsonFields::find(const char* key) const {
  if (!json_->is_object()) return nullptr;
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

const Json* JsonFields::find_array(const char* key) {
  const Json* value = find(key);
  if (value == nullptr || value->is_array()) return value;
  fail(key, std::string("must be an array, not ") + value->type_name());
  return nullptr;
}

void JsonFields::read(const char* key, bool is_required, const Field& field, void* out) {
  if (error_) return;
  if (const Json* value = find(key)) {
    keep(read_value(field, *value, out, path_of(key)));
  } else if (is_required) {
    fail(key, "is missing");
  }
}

void JsonFields::maybe(const char* key, NamedTexts& out) {
  read(key, false, Field{key, "", &kTypeOf<NamedTexts>, nullptr, &kNamedText}, &out);
}

}  // namespace warpmark
