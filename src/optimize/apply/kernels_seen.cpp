#include "optimize/apply/kernels_seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace warpmark::optimize {
namespace {

constexpr std::size_t kShown = 60;  // characters of a kernel's name, whose end is types

/// The parts that hold for this value: those that name no value, and "VALUE=PART".
std::vector<std::string> parts_of(std::string_view words, std::string_view value) {
  std::vector<std::string> parts;
  for (const auto& word : split(words, ' ')) {
    const auto equals = word.find('=');
    if (word.empty() || (equals != std::string::npos && word.substr(0, equals) != value)) continue;
    parts.push_back(ascii_lower(std::string_view(word).substr(equals == std::string::npos ? 0 : equals + 1)));
  }
  return parts;
}

}  // namespace

std::optional<std::string> kernels_seen(const Setting& setting, std::span<const std::string> kernels) {
  const Knob* knob = find_in(knobs(), setting.knob);
  if (knob == nullptr || kernels.empty()) return std::nullopt;
  const auto parts = parts_of(knob->kernels, setting.value);
  if (parts.empty()) return std::nullopt;
  std::size_t count = 0;
  std::string_view first;
  for (const auto& kernel : kernels) {
    const auto name = ascii_lower(std::string_view(kernel));
    if (std::ranges::none_of(parts, [&](const auto& part) { return name.find(part) != std::string::npos; })) continue;
    if (count++ == 0) first = kernel;
  }
  if (count == 0) return fmt::format("in none of {} kernels", kernels.size());
  return fmt::format("in {} of {} kernels, as {}{}", count, kernels.size(), first.substr(0, kShown),
                     first.size() > kShown ? "..." : "");
}

}  // namespace warpmark::optimize
