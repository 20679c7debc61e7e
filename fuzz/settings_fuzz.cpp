// Files in YAML beside suites: projects, matrices, acceptance criteria and datasheets. Any text is an error with a
// place or settings whose numbers are in range, in memory that is bounded.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "device/datasheet.h"
#include "memory_bound.h"
#include "stretched.h"
#include "validate/accept/criteria.h"
#include "validate/commands/command_spec.h"
#include "validate/matrix/matrix.h"

namespace {

using namespace warpmark;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const validate::CommandSpec& spec) {
  require(std::isfinite(spec.timeout_s) && spec.timeout_s > 0 && !spec.metrics.empty());
  for (const auto& metric : spec.metrics) require(metric.percentile >= 0 && metric.percentile <= 1);
}

/// Ten times the text, and what 20 000 values and the commands of 1000 variants may take.
constexpr std::size_t kSettingsBuffers = 128 << 20;

void read_as_each(std::string_view text) {
  const fuzz::PeakMemory peak;
  if (const auto spec = validate::parse_command_spec(text, "input")) check(*spec);
  if (const auto spec = validate::parse_matrix_spec(text, "input")) {
    require(!spec->variants.empty() && spec->rounds > 0);
    for (const auto& variant : spec->variants) check(variant.command);
  }
  if (const auto criteria = validate::parse_criteria(text, "input")) {
    require(std::isfinite(criteria->budget_s) && criteria->rounds > 0);
    for (const auto& row : criteria->rows) (void)validate::limits_of(row, "GB/s");
  }
  if (const auto sheet = device::parse_datasheet(text, "input")) {
    require(std::isfinite(sheet->memory_bytes) && std::isfinite(sheet->memory_bandwidth));
  }
  peak.require_at_most(10, text.size(), kSettingsBuffers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_as_each(text);
  if (fuzz::is_stretched(text)) read_as_each(fuzz::stretched(text, 200'000));
  return 0;
}
