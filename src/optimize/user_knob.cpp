#include "optimize/user_knob.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"

namespace warpmark::optimize {
namespace {

constexpr std::size_t kMostValues = 32;

const std::vector<std::string> kNumerics{"exact", "rounding", "random_streams", "precision", "semantic"};

Error form_error(std::string_view text) {
  return usage_error(fmt::format("--knob {} is not of the form NAME='--flag {{1,2}}' or NAME='VARIABLE={{1,2}}'", text),
                     "such as --knob batch='--batch-size {64,128}'");
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                              std::string_view::npos;
}

template <UserKnobPlace kPlace>
Status read_target(const YamlReader& reader, const YamlNode& node, const YamlKey& key, UserKnob& knob) {
  knob.place = kPlace;
  return reader.value(node, key, knob.target);
}

constexpr YamlKey kKnobKeys[] = {
    yaml_key<&UserKnob::name>("name").needed(),
    yaml_key<read_target<UserKnobPlace::argument>>("argument"),
    yaml_key<read_target<UserKnobPlace::variable>>("variable"),
    yaml_key<read_target<UserKnobPlace::file>>("file"),
    yaml_key<read_target<UserKnobPlace::patch>>("patch"),
    yaml_key<&UserKnob::pattern>("pattern"),
    yaml_key<&UserKnob::values>("values"),
    yaml_key("changes"),
};

Status read_knob(const YamlReader& reader, const YamlNode& node, UserKnob& knob) {
  WM_TRY(reader.fill(node, "a knob is a map: {name: batch, argument: --batch-size, values: [1]}", kKnobKeys, knob));
  if (!is_name(knob.name))
    return reader.error(node, "name: '" + knob.name + "' is no name", "letters, digits, _ and -");
  int places = 0;
  for (const char* place : {"argument", "variable", "file", "patch"}) places += node[place] ? 1 : 0;
  if (places != 1) return reader.error(node, knob.name + " needs one of argument, variable, file and patch");
  if (knob.place == UserKnobPlace::patch) {
    if (node["values"]) return reader.error(node["values"], knob.name + " is a patch, which has no values");
    knob.values = patch_knob(knob.name, knob.target).values;
  }
  if (knob.place == UserKnobPlace::file && knob.pattern.find("{}") == std::string::npos) {
    return reader.error(node["pattern"], "pattern: '" + knob.pattern + "' has no {}",
                        "write {} where the value stands");
  }
  if (const auto expanded = expand_values(knob); !expanded.ok()) {
    return reader.error(node, expanded.error().what, expanded.error().hint);
  }
  if (knob.values.empty() || knob.values.size() > kMostValues) {
    return reader.error(
        node, fmt::format("{} has {} values; 1 to {} are possible", knob.name, knob.values.size(), kMostValues));
  }
  if (!node["changes"]) return {};
  WM_ASSIGN(const auto changes, reader.one_of(node["changes"], "changes", kNumerics));
  knob.numerics = numerics_from(changes).value_or(Numerics::rounding);
  return {};
}

constexpr YamlKey kKnobsKeys[] = {
    yaml_schema(kOptimizeSchema),
    yaml_key<read_user_knobs>("knobs").needed("there is no list of knobs"),
};

}  // namespace

UserKnob patch_knob(const std::string& name, const std::string& file) {
  return {.name = name,
          .place = UserKnobPlace::patch,
          .target = file,
          .pattern = {},
          .values = {file.substr(file.rfind('/') + 1)}};
}

Status expand_values(UserKnob& knob) {
  if (knob.values.empty() || knob.values.back() != "...") return {};
  knob.values.pop_back();
  std::vector<std::int64_t> numbers;
  for (const auto& value : knob.values) {
    const auto number = parse_integer(value);
    if (!number.ok() || *number < 1 || (!numbers.empty() && *number <= numbers.back())) {
      return usage_error(
          fmt::format("{}: values before ... are growing whole numbers, and '{}' is not one", knob.name, value),
          "such as {64,128,...}");
    }
    numbers.push_back(*number);
  }
  if (numbers.empty()) return usage_error(knob.name + ": nothing stands before ...", "such as {64,128,...}");
  constexpr int kFurther = 12;
  const double ratio =
      numbers.size() < 2 ? 2 : static_cast<double>(numbers.back()) / static_cast<double>(numbers[numbers.size() - 2]);
  for (int i = 0; i < kFurther; ++i) {
    const double next = static_cast<double>(numbers.back()) * ratio;
    if (next > 1e12) break;
    numbers.push_back(static_cast<std::int64_t>(next + 0.5));
    knob.values.push_back(std::to_string(numbers.back()));
  }
  knob.until_memory_ends = true;
  return {};
}

std::optional<Numerics> numerics_from(std::string_view text) {
  for (const auto numerics : kAllNumerics) {
    if (text == name_of(numerics)) return numerics;
  }
  return std::nullopt;
}

Result<UserKnob> parse_user_knob(std::string_view text) {
  const auto equals = text.find('=');
  const auto open = text.rfind('{'), close = text.rfind('}');
  if (equals == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos ||
      close < open || open <= equals + 1 || !is_name(text.substr(0, equals))) {
    return form_error(text);
  }
  UserKnob knob{.name = std::string(text.substr(0, equals))};
  auto target = std::string(trim(text.substr(equals + 1, open - equals - 1)));
  if (target.ends_with('=') && !target.starts_with('-')) {
    knob.place = UserKnobPlace::variable;
  }
  if (target.ends_with('=')) target.pop_back();
  knob.target = target;
  if (knob.target.empty() || knob.target.find(' ') != std::string::npos) return form_error(text);
  for (const auto& value : split(text.substr(open + 1, close - open - 1), ',')) {
    if (!trim(value).empty()) knob.values.emplace_back(trim(value));
  }
  WM_TRY(expand_values(knob));
  const auto rest = trim(text.substr(close + 1));
  if (knob.values.empty() || knob.values.size() > kMostValues) return form_error(text);
  if (!rest.empty()) {
    const auto changes = numerics_from(rest);
    if (!changes) {
      return usage_error(fmt::format("--knob {}: '{}' does not say whether answers change", knob.name, rest),
                         "one of: " + join(kNumerics, ", "));
    }
    knob.numerics = *changes;
  }
  return knob;
}

Result<std::vector<UserKnob>> parse_user_knobs(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  if (!root.is_map()) return data_error(std::string(file_name) + " is no map with a list of knobs");
  std::vector<UserKnob> knobs;
  WM_TRY(YamlReader(file_name).fill(root, "", kKnobsKeys, knobs));
  return knobs;
}

Status read_user_knobs(const YamlReader& reader, const YamlNode& list, const YamlKey&, std::vector<UserKnob>& knobs) {
  if (!list.is_list()) return reader.error(list, "there is no list of knobs");
  for (const auto& node : list.items()) {
    UserKnob knob;
    WM_TRY(read_knob(reader, node, knob));
    const bool twice = std::ranges::any_of(knobs, [&](const auto& k) { return k.name == knob.name; });
    if (twice) return reader.error(node, "the knob " + knob.name + " is there twice");
    knobs.push_back(std::move(knob));
  }
  return {};
}

std::vector<std::string> with_argument(std::vector<std::string> words, const std::string& argument,
                                       const std::string& value) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == argument && i + 1 < words.size()) {
      words[i + 1] = value;
      return words;
    }
    if (words[i].starts_with(argument + "=")) {
      words[i] = argument + "=" + value;
      return words;
    }
  }
  words.push_back(argument);
  words.push_back(value);
  return words;
}

Result<std::string> with_value(const std::string& text, const std::string& pattern, const std::string& value) {
  const auto place = pattern.find("{}");
  WM_CHECK(place != std::string::npos);
  const auto before = pattern.substr(0, place), after = pattern.substr(place + 2);
  std::string result;
  int found = 0;
  for (auto at = text.find(before); at != std::string::npos && !before.empty(); at = text.find(before, at + 1)) {
    const auto begin = at + before.size();
    // The value that is there ends at what follows it, or at the end of its word.
    const auto end = after.empty() ? text.find_first_of(" \t\r\n,;}])", begin) : text.find(after, begin);
    if (!after.empty() && end == std::string::npos) continue;
    if (text.substr(begin, end - begin).find('\n') != std::string::npos) continue;
    ++found;
    result = text.substr(0, begin) + value + (end == std::string::npos ? "" : text.substr(end));
  }
  if (found != 1) {
    return data_error(fmt::format("the pattern '{}' is there {} times", pattern, found),
                      "it must name one place; write more of what stands around the value");
  }
  return result;
}

}  // namespace warpmark::optimize
