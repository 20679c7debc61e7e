// Which library is loaded.
#pragma once

namespace warpmark::v0 {

/// "0.1.0".
[[nodiscard]] const char* version();

}  // namespace warpmark::v0
