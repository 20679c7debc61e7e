#include <warpmark/version.hpp>

#include "generated/version.h"

namespace warpmark::v0 {

const char* version() { return generated::kVersion; }

}  // namespace warpmark::v0
