// Parameters as typed: "name=value" lines against a table with every kind of parameter. What was accepted can be
// printed and is accepted again with the same value.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/params.h"

namespace {

constexpr warpmark::ParamSpec kTable[] = {
    {"m", warpmark::ParamKind::integer, "1024", "rows"},
    {"size", warpmark::ParamKind::bytes, "4KiB", "bytes"},
    {"scale", warpmark::ParamKind::number, "0.5", "factor"},
    {"dtype", warpmark::ParamKind::text, "f32", "data type", "f32|f16|bf16"},
    {"label", warpmark::ParamKind::text, "", "anything"},
};

warpmark::Overrides overrides_in(std::string_view text) {
  warpmark::Overrides overrides;
  for (const auto& line : warpmark::split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    overrides.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return overrides;
}

warpmark::Overrides as_typed(const warpmark::Params& params) {
  warpmark::Overrides overrides;
  for (const auto& [name, value] : params.items()) overrides.emplace_back(name, warpmark::to_text(value));
  return overrides;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto params = warpmark::resolve_params(kTable, overrides_in(text));
  if (!params) return 0;
  const auto again = warpmark::resolve_params(kTable, as_typed(*params));
  if (!again || !(*again == *params)) std::abort();
  return 0;
}
