#include "model/fields/options.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace warpmark {
namespace {

bool is_time(std::string_view placeholder) { return placeholder == "TIME" || placeholder == "SECONDS"; }

bool is_ratio(std::string_view placeholder) {
  return placeholder == "RATIO" || placeholder == "R" || placeholder == "P";
}

Result<double> parse_real(std::string_view placeholder, const std::string& text) {
  if (is_time(placeholder)) return parse_duration_s(text);
  return is_ratio(placeholder) || text.ends_with('%') ? parse_ratio(text) : parse_number(text);
}

std::string duration_text(double seconds) {
  if (seconds == 0) return "0";
  if (seconds < 1) return fmt::format("{:g}ms", seconds * 1e3);
  const bool minutes = seconds >= 120 && std::fmod(seconds, 60) == 0;
  return minutes ? fmt::format("{:g}m", seconds / 60) : fmt::format("{:g}s", seconds);
}

Status check_range(const OptionSpec& option, double value) {
  const bool unset = !option.use.range.low && !option.use.range.high;
  const auto& [low, high, above_low, below_high] =
      unset && is_ratio(option.value) ? kBetweenZeroAndOne : option.use.range;
  const bool fits =
      (!low || (above_low ? value > *low : value >= *low)) && (!high || (below_high ? value < *high : value <= *high));
  if (fits) return {};
  const bool in_percent = is_ratio(option.value) && value >= 1 && value < 100;
  const std::string hint = in_percent ? fmt::format("{} {:g}%", option.name, value) : "";
  const auto at = [&](double end) { return is_time(option.value) ? duration_text(end) : fmt::format("{:.15g}", end); };
  if (!low) return usage_error(fmt::format("{} must be at most {}", option.name, at(*high)));
  if (!high)
    return usage_error(fmt::format("{} must be {} {}", option.name, above_low ? "above" : "at least", at(*low)));
  const char* form = !above_low   ? "{} must be {} to {}"
                     : below_high ? "{} must be between {} and {}"
                                  : "{} must be above {} and at most {}";
  return usage_error(fmt::format(fmt::runtime(form), option.name, at(*low), at(*high)), hint);
}

Status check_choice(const OptionSpec& option, const std::string& text) {
  const auto words = split(completion_of(option), ' ');
  if (std::ranges::find(words, text) != words.end()) return {};
  const char* what = option.name + 2;
  return usage_error(fmt::format("there is no {} '{}'", what, text), fmt::format("{}s: {}", what, join(words, ", ")));
}

Status read_value(const OptionSpec& option, const Type& type, const std::string& text, void* value) {
  using Kind = Type::Kind;
  const bool holds = type.kind == Kind::optional || type.kind == Kind::list;
  if (option.use.read != nullptr && !holds) return option.use.read(text, value);
  switch (type.kind) {
    case Kind::text:
      if (text.empty()) return usage_error(std::string(option.name) + " is empty", "give it a value, or leave it out");
      *static_cast<std::string*>(value) = text;
      return option.use.choice ? check_choice(option, text) : Status();
    case Kind::real: {
      WM_ASSIGN(const double number, parse_real(option.value, text));
      *static_cast<double*>(value) = number;
      return check_range(option, number);
    }
    case Kind::whole: {
      WM_ASSIGN(const auto number, parse_integer(text));
      WM_TRY(check_range(option, static_cast<double>(number)));
      return type.store(value, number) ? Status() : usage_error(fmt::format("{}: {} is too large", option.name, text));
    }
    case Kind::name: {
      const auto named = value_in(type.names, text);
      return named ? (type.store(value, *named), Status()) : check_choice(option, text);
    }
    case Kind::optional: return read_value(option, *type.item, text, type.add(value, {}));
    case Kind::list: {
      const bool numbers = type.item->kind == Kind::whole || type.item->kind == Kind::real;
      for (const auto& each : numbers || option.use.separated ? split(text, ',') : std::vector{text}) {
        WM_TRY(read_value(option, *type.item, std::string(trim(each)), type.add(value, {})));
      }
      return {};
    }
    case Kind::map: {
      const auto equals = text.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        return usage_error(fmt::format("{} {} is not of the form name=value", option.name, text));
      }
      return read_value(option, *type.item, text.substr(equals + 1), type.add(value, text.substr(0, equals)));
    }
    case Kind::boolean: {
      if (*option.value == '\0') return type.store(value, type.load(value) == 0 ? 1 : 0), Status();
      WM_ASSIGN(const auto number, parse_integer(text));
      return type.store(value, number == 0 ? 0 : 1), Status();
    }
    case Kind::part: break;
  }
  return internal_error(std::string(option.name) + " has no form");
}

}  // namespace

Status read_members(const ParsedOptions& options, const void* owner, void* request) {
  for (const auto& option : options.specs()) {
    if (option.use.owner != owner) continue;
    for (const auto& text : options.all(option.name)) {
      auto read = read_value(option, *option.use.type, text, const_cast<void*>(option.use.member(request)));
      if (read.ok()) continue;
      Error error = read.error();
      if (error.what.starts_with('\'')) error.what = std::string(option.name) + ": " + error.what;
      return error;
    }
  }
  return {};
}

std::string default_of(const OptionSpec& option) {
  using Kind = Type::Kind;
  if (option.use.type == nullptr || option.use.read != nullptr) return {};
  const void* value = option.use.member(option.use.defaults());
  switch (option.use.type->kind) {
    case Kind::text: return *static_cast<const std::string*>(value);
    case Kind::name: return name_in(option.use.type->names, option.use.type->load(value));
    case Kind::whole: {
      const auto number = option.use.type->load(value);
      return number == 0 ? "" : std::to_string(number);
    }
    case Kind::real: {
      const double number = *static_cast<const double*>(value);
      const std::string_view placeholder = option.value;
      if (!(number > 0)) return {};
      if (is_time(placeholder)) return duration_text(number);
      return is_ratio(placeholder) && placeholder != "P" ? fmt::format("{:g}%", number * 100)
                                                         : fmt::format("{:g}", number);
    }
    default: return {};
  }
}

std::string option_help(const OptionSpec& option) {
  const std::string actions = option.use.actions, otherwise = default_of(option);
  return (actions.empty() ? "" : actions + ": ") + option.help +
         (otherwise.empty() ? "" : " (default " + otherwise + ")");
}

std::string completion_of(std::string_view completion, std::string_view placeholder) {
  if (!completion.empty()) return std::string(completion);
  for (const std::string_view file : {"FILE", "DIR", "FOLDER", "PATH"}) {
    if (placeholder.find(file) != std::string_view::npos) return "<files>";
  }
  if (placeholder == "METRIC") return "<metrics>";
  if (placeholder == "SESSION" || placeholder == "RUN") return "<runs>";
  return placeholder == "DEVICE" ? "<devices>" : "";
}

std::string completion_of(const OptionSpec& option) {
  const bool named = option.use.type != nullptr && option.use.type->kind == Type::Kind::name;
  if (*option.completion != '\0' || !named) return completion_of(option.completion, option.value);
  std::string words;
  for (const Name& name : option.use.type->names) words += (words.empty() ? "" : " ") + std::string(name.text);
  return words;
}

}  // namespace warpmark
