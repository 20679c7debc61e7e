#include "validate/scaling/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::validate {
namespace {

template <typename Enum, std::size_t N>
std::optional<Enum> named(std::string_view name, const std::array<Enum, N>& all) {
  const auto found = std::ranges::find_if(all, [&](Enum one) { return name == name_of(one); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

constexpr const char* kKeys =
    "dp, tp, pp, cp (context), ep (experts), shard (HSDP), vp (interleaving), mb (micro-batch), zero=0-3, "
    "recompute=none|selective|full, offload=none|state|parameters|activations|all (or state+activations), sp=on|off";

Status read_word(const std::string& key, const std::string& value, LayoutRequest& request) {
  const auto wrong = [&] { return usage_error(fmt::format("--layout: {}={} means nothing", key, value), kKeys); };
  if (key == "recompute") {
    request.recompute = recompute_named(value);
    return request.recompute ? Status{} : wrong();
  }
  if (key == "offload") {
    request.offload = request.offload_activations = request.offload_parameters = false;
    for (const auto& what : split(value, '+')) {
      if (what != "none" && what != "state" && what != "activations" && what != "parameters" && what != "all") {
        return wrong();
      }
      if (what == "state" || what == "all") request.offload = true;
      if (what == "activations" || what == "all") request.offload_activations = true;
      if (what == "parameters" || what == "all") request.offload_parameters = true;
    }
    return {};
  }
  if (key == "sp") {
    if (value != "on" && value != "off") return wrong();
    request.sequence_parallel = value == "on";
    return {};
  }
  const std::pair<const char*, std::optional<int>*> numbers[] = {
      {"dp", &request.data},       {"tp", &request.tensor}, {"pp", &request.pipeline},
      {"cp", &request.context},    {"ep", &request.expert}, {"shard", &request.shard},
      {"vp", &request.interleave}, {"zero", &request.zero}, {"mb", &request.micro_batch}};
  const auto found = std::ranges::find_if(numbers, [&](const auto& one) { return key == one.first; });
  const auto number = parse_integer(value);
  const bool zero = key == "zero";
  if (found == std::end(numbers) || !number.ok() || *number < (zero ? 0 : 1) || *number > (zero ? 3 : 1'000'000)) {
    return wrong();
  }
  *found->second = static_cast<int>(*number);
  return {};
}

}  // namespace

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
    case Precision::fp8: return "fp8";
  }
  return "";
}

std::optional<Precision> precision_named(std::string_view name) {
  return named(name, std::array{Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8});
}

const char* flop_type_of(Precision precision) {
  if (precision == Precision::fp32) return "f32";
  return precision == Precision::fp16 ? "f16" : name_of(precision);
}

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

const char* name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam: return "adam";
    case Optimizer::sgd: return "sgd";
    case Optimizer::momentum: return "momentum";
    case Optimizer::adam8bit: return "adam8bit";
  }
  return "";
}

std::optional<Optimizer> optimizer_named(std::string_view name) {
  return named(name, std::array{Optimizer::adam, Optimizer::sgd, Optimizer::momentum, Optimizer::adam8bit});
}

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
  }
  return "";
}

std::optional<Recompute> recompute_named(std::string_view name) {
  return named(name, std::array{Recompute::none, Recompute::selective, Recompute::full});
}

std::string offload_text(const Layout& layout) {
  std::vector<std::string> what;
  if (layout.offload) what.emplace_back("state");
  if (layout.offload_parameters) what.emplace_back("parameters");
  if (layout.offload_activations) what.emplace_back("activations");
  return what.size() == 3 ? "all" : join(what, "+");
}

std::string text_of(const Layout& layout) {
  std::string text = fmt::format("dp={} tp={} pp={}", layout.data, layout.tensor, layout.pipeline);
  const auto add = [&](const char* key, int value) { text += value > 1 ? fmt::format(" {}={}", key, value) : ""; };
  add("vp", layout.interleave), add("cp", layout.context), add("ep", layout.expert), add("shard", layout.shard);
  text += fmt::format(" zero={}", layout.zero);
  const std::string offload = offload_text(layout);
  return offload.empty() ? text : text + " offload=" + offload;
}

Result<LayoutRequest> parse_layout(std::string_view text) {
  LayoutRequest request{.text = std::string(text)};
  for (const auto& word : split(text, ',')) {
    const std::string pair(trim(word));
    const auto equals = pair.find('=');
    if (equals == std::string::npos) return usage_error("--layout: '" + pair + "' is not KEY=VALUE", kKeys);
    WM_TRY(read_word(pair.substr(0, equals), pair.substr(equals + 1), request));
  }
  if (text.find("parameters") == std::string_view::npos) return request;  // "all" takes what the stage allows
  if (request.zero.value_or(3) != 3) return usage_error("--layout: offload=parameters needs zero=3", kKeys);
  request.zero = 3;
  return request;
}

}  // namespace warpmark::validate
