// How this executable was made, for --version and for every result.
#pragma once

#include "model/machine.h"

namespace warpmark::apps {

/// Cheap: loads nothing.
[[nodiscard]] Build build_info();

}  // namespace warpmark::apps
