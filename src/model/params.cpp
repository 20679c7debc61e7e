#include "model/params.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/units.h"

namespace warpmark {

void Params::set(std::string_view name, ParamValue value) {
  for (auto& [key, old] : items_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  items_.emplace_back(name, std::move(value));
}

bool Params::has(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& item) { return item.first == name; });
}

const ParamValue& Params::at(std::string_view name) const {
  const auto found = std::find_if(items_.begin(), items_.end(), [&](const auto& item) { return item.first == name; });
  WM_CHECK(found != items_.end());
  return found->second;
}

std::int64_t Params::integer(std::string_view name) const {
  const auto* value = std::get_if<std::int64_t>(&at(name));
  WM_CHECK(value != nullptr);
  return *value;
}

double Params::number(std::string_view name) const {
  const auto& value = at(name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&value);
  WM_CHECK(number != nullptr);
  return *number;
}

const std::string& Params::text(std::string_view name) const {
  const auto* value = std::get_if<std::string>(&at(name));
  WM_CHECK(value != nullptr);
  return *value;
}

std::string to_text(const ParamValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, std::get<double>(value)).ptr;
  return {digits, end};
}

std::string to_text(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params.items()) {
    if (!text.empty()) text += ' ';
    text += name + "=" + to_text(value);
  }
  return text;
}

Result<ParamValue> parse_param(const ParamSpec& spec, std::string_view text) {
  const std::string name = spec.name;
  const auto allowed = split(spec.choices, '|');
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    const auto meant = nearest(text, allowed);
    return usage_error(
        name + " cannot be '" + std::string(text) + "'",
        (meant.empty() ? "" : "did you mean '" + meant + "'? ") + std::string("allowed: ") + join(allowed, ", "));
  }
  const auto named = [&](const Error& error) { return usage_error(name + ": " + error.what, error.hint); };
  const bool any = spec.kind == ParamKind::text || spec.kind == ParamKind::program || spec.kind == ParamKind::path;
  if (any) return ParamValue(std::string(text));
  if (spec.kind == ParamKind::number) {
    const auto number = parse_number(text);
    if (!number.ok()) return named(number.error());
    return ParamValue(*number);
  }
  const auto whole = spec.kind == ParamKind::bytes ? parse_bytes(text) : parse_integer(text);
  if (!whole.ok()) return named(whole.error());
  return ParamValue(*whole);
}

Result<Params> resolve_params(std::span<const ParamSpec> table, const Overrides& overrides) {
  Params params;
  std::vector<std::string> names;
  for (const auto& spec : table) {
    WM_ASSIGN(auto value, parse_param(spec, spec.default_text));
    params.set(spec.name, std::move(value));
    names.emplace_back(spec.name);
  }
  for (const auto& [name, text] : overrides) {
    const auto spec =
        std::find_if(table.begin(), table.end(), [&wanted = name](const auto& row) { return wanted == row.name; });
    if (spec == table.end()) {
      const auto meant = nearest(name, names);
      return usage_error(
          "there is no parameter '" + name + "'",
          (meant.empty() ? "" : "did you mean '" + meant + "'? ") + std::string("parameters: ") + join(names, ", "));
    }
    WM_ASSIGN(auto value, parse_param(*spec, text));
    params.set(name, std::move(value));
  }
  return params;
}

}  // namespace warpmark
