// Files of alert rules: any bytes are rules or an error that names the file, and what is taken is within its limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "watch/alerts/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rules = warpmark::watch::parse_alert_rules({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!rules.ok()) {
    WM_CHECK(rules.error().what.find("fuzzed") != std::string::npos);
    return 0;
  }
  WM_CHECK(!rules->rules.empty() && rules->interval_s >= 1);
  for (const auto& rule : rules->rules) {
    WM_CHECK(!rule.name.empty() && rule.for_s >= 0 && rule.threshold > 0);
    WM_CHECK(rule.to.size() <= rules->sinks.size());
  }
  return 0;
}
