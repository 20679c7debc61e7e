#include "serving/traffic/scenario.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "serving/traffic/arrivals.h"

namespace warpmark::serving {
namespace {

constexpr double kMostTokens = 10e6;
constexpr const char* kGrammar =
    "D(in,out), N(mean,std)/(mean,std), U(min,max)/(min,max), U(max,max), L(mean,std)/(mean,std), E(tokens), "
    "R(document,query), I(width,height[,images]), dataset; without spaces";

/// "(480,240)" at the front of `text`, which is removed; nothing if it is not there.
std::optional<std::vector<double>> take_numbers(std::string_view& text) {
  if (!text.starts_with('(')) return std::nullopt;
  const auto end = text.find(')');
  if (end == std::string_view::npos) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& field : split(text.substr(1, end - 1), ',')) {
    const bool digits = !field.empty() && std::all_of(field.begin(), field.end(), is_digit);
    const auto number = digits ? parse_number(field) : Result<double>(usage_error(""));
    if (!number.ok() || *number > kMostTokens) return std::nullopt;
    numbers.push_back(*number);
  }
  text.remove_prefix(end + 1);
  return numbers;
}

struct Form {
  char letter;
  ScenarioKind kind;
  std::size_t least, most;  ///< numbers in the first parentheses
  enum class Second { none, optional, needed } second;
};

constexpr Form kForms[] = {
    {'D', ScenarioKind::fixed, 2, 2, Form::Second::none},
    {'N', ScenarioKind::normal, 2, 2, Form::Second::needed},
    {'U', ScenarioKind::uniform, 2, 2, Form::Second::optional},
    {'L', ScenarioKind::lognormal, 2, 2, Form::Second::needed},
    {'E', ScenarioKind::embedding, 1, 1, Form::Second::none},
    {'R', ScenarioKind::rerank, 2, 2, Form::Second::none},
    {'I', ScenarioKind::image, 2, 3, Form::Second::none},
};

Error no_scenario(std::string_view text) {
  return usage_error("'" + std::string(text) + "' is no traffic scenario", kGrammar);
}

Status check(const Scenario& scenario) {
  const auto bad = [&](const char* what) { return usage_error("scenario " + scenario.text + ": " + what, kGrammar); };
  if (scenario.kind == ScenarioKind::uniform) {
    if (scenario.input.a > scenario.input.b || scenario.output.a > scenario.output.b) {
      return bad("the least is above the most");
    }
    return {};
  }
  if (scenario.input.a < 1) return bad("the input needs at least 1 token");
  if (scenario.kind == ScenarioKind::image && scenario.images < 1) return bad("at least 1 image is needed");
  return {};
}

void take_first(const Form& form, const std::vector<double>& numbers, Scenario& scenario) {
  switch (form.kind) {
    case ScenarioKind::fixed:
    case ScenarioKind::rerank:
      scenario.input = {numbers[0], 0};
      scenario.output = {numbers[1], 0};
      return;
    case ScenarioKind::embedding: scenario.input = {numbers[0], 0}; return;
    default: scenario.input = {numbers[0], numbers[1]}; return;
  }
}

std::int64_t draw_one(ScenarioKind kind, const LengthLaw& law, std::int64_t least, stats::Random& random) {
  double value = law.a;
  if (kind == ScenarioKind::normal) value = law.a + law.b * draw_normal(random);
  if (kind == ScenarioKind::uniform) value = std::floor(law.a + draw_unit(random) * (law.b - law.a + 1));
  if (kind == ScenarioKind::lognormal) value = draw_lognormal(random, law.a, law.b);
  return std::max(least, static_cast<std::int64_t>(std::llround(std::min(value, kMostTokens))));
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  scenario.text = std::string(text);
  if (text == "dataset") {
    scenario.kind = ScenarioKind::dataset;
    return scenario;
  }
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const Form& item) { return text.starts_with(item.letter); });
  if (form == std::end(kForms)) return no_scenario(text);
  std::string_view rest = text.substr(1);
  const auto first = take_numbers(rest);
  if (!first || first->size() < form->least || first->size() > form->most) return no_scenario(text);
  scenario.kind = form->kind;
  take_first(*form, *first, scenario);
  if (form->kind == ScenarioKind::image && first->size() == 3) scenario.images = static_cast<std::int64_t>((*first)[2]);
  if (form->second != Form::Second::none && rest.starts_with('/')) {
    rest.remove_prefix(1);
    const auto second = take_numbers(rest);
    if (!second || second->size() != 2) return no_scenario(text);
    scenario.output = {(*second)[0], (*second)[1]};
  } else if (form->second == Form::Second::needed) {
    return no_scenario(text);
  } else if (form->kind == ScenarioKind::uniform) {  // U(most of the input, most of the output)
    scenario.input = {1, (*first)[0]};
    scenario.output = {1, (*first)[1]};
  }
  if (!rest.empty()) return no_scenario(text);
  WM_TRY(check(scenario));
  return scenario;
}

Lengths draw_lengths(const Scenario& scenario, stats::Random& random) {
  switch (scenario.kind) {
    case ScenarioKind::dataset: return {};
    case ScenarioKind::fixed:
    case ScenarioKind::rerank: return {std::llround(scenario.input.a), std::llround(scenario.output.a)};
    case ScenarioKind::embedding: return {std::llround(scenario.input.a), 0};
    case ScenarioKind::image: return {100, 100};
    default: break;
  }
  const std::int64_t input = draw_one(scenario.kind, scenario.input, 1, random);
  return {input, draw_one(scenario.kind, scenario.output, 2, random)};
}

std::string scenario_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == '(' || c == ')') continue;
    name += c == '/' || c == ',' ? '_' : c;
  }
  return name;
}

}  // namespace warpmark::serving
