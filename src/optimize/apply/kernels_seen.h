// Whether the kernels of recorded steps bear a knob out: a second proof that it was in force, beside what the hook
// reads back. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "optimize/knob.h"

namespace warpmark::optimize {

/// "in 12 of 40 kernels, as NAME", or "in none of 40 kernels"; nothing of a knob that does not show in names of
/// kernels, or where there are none. `kernels`: the different names.
[[nodiscard]] std::optional<std::string> kernels_seen(const Setting& setting, std::span<const std::string> kernels);

}  // namespace warpmark::optimize
