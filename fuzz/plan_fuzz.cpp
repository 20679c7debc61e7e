// Plans of `optimize` and a user's own settings: any text is one or an error, and a plan has no setting without a
// value.
#include <string_view>

#include "base/result.h"
#include "optimize/plan.h"
#include "optimize/user_knob.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark::optimize;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto plan = parse_plan(text, "x"); plan.ok()) {
    for (const auto& [name, value] : plan->settings) WM_CHECK(!name.empty() && !value.empty());
  }
  (void)parse_user_knobs(text, "x").ok();
  (void)parse_user_knob(text).ok();
  return 0;
}
