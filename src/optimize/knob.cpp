#include "optimize/knob.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "model/fields/names.h"
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {

Numerics numerics_of(const Knob& knob, const ProgramFacts& facts) {
  // A compiler draws the random numbers of a forward in its own order.
  if (facts.draws && std::string_view(knob.id) == "compile") return Numerics::random_streams;
  const bool narrow = std::ranges::any_of(facts.report.modules, [](const auto& module) {
    return module.autocast || module.dtype == "torch.bfloat16" || module.dtype == "torch.float16";
  });
  return narrow && knob.numerics == Numerics::rounding ? Numerics::rounding_of_16_bits : knob.numerics;
}

constexpr auto kNumericsNames =
    in_order(Numerics::semantic, "exact", "rounding", "rounding", "random_streams", "precision", "semantic");
const char* name_of(Numerics numerics) { return name_in(kNumericsNames, static_cast<std::int64_t>(numerics)); }

std::string values_text(const Knob& knob) { return join(split(knob.values, '|'), ", "); }

bool takes(const Knob& knob, std::string_view value) {
  if (std::string_view(knob.values) == kWholeNumber) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size();
  }
  const auto values = split(knob.values, '|');
  return *knob.values == '\0' || std::find(values.begin(), values.end(), value) != values.end();
}

OptimizationAdvice advice_of(const Knob& knob, const ProgramFacts& facts, std::string_view value) {
  if (knob.source != nullptr) return knob.source(facts, value);
  std::string code = knob.code;
  if (const auto at = code.find("{}"); at != std::string::npos) code.replace(at, 2, value);
  return {.where = place_in(facts, knob.place), .text = knob.text, .code = std::move(code), .predicted = {}};
}

std::string value_of(const Settings& settings, std::string_view knob) {
  for (const auto& setting : settings) {
    if (setting.knob == knob) return setting.value;
  }
  return {};
}

Settings with(Settings settings, const Setting& setting) {
  for (auto& known : settings) {
    if (known.knob == setting.knob) {
      known.value = setting.value;
      return settings;
    }
  }
  settings.push_back(setting);
  return settings;
}

std::int64_t loader_workers(const ProgramFacts& facts, const Settings& settings) {
  const auto given = value_of(settings, "loader.workers");
  if (!given.empty()) return std::strtoll(given.c_str(), nullptr, 10);
  return facts.report.loaders.empty() ? 0 : facts.report.loaders.front().workers;
}

Settings without(Settings settings, std::string_view knob) {
  std::erase_if(settings, [&](const Setting& setting) { return setting.knob == knob; });
  return settings;
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& setting : settings) text += (text.empty() ? "" : " ") + setting.knob + "=" + setting.value;
  return text.empty() ? "nothing changed" : text;
}

bool torch_at_least(const ProgramFacts& facts, int major, int minor) {
  const auto& version = facts.report.torch;
  int first = 0, second = 0;
  const auto dot = version.find('.');
  if (dot == std::string::npos) return false;
  std::from_chars(version.data(), version.data() + dot, first);
  std::from_chars(version.data() + dot + 1, version.data() + version.size(), second);
  return first > major || (first == major && second >= minor);
}

}  // namespace warpmark::optimize
