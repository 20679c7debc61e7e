// Where generated data goes: a file written piece by piece that appears when it is whole, or the output.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace warpmark::evaluate {

/// Takes the next piece. An error ends the generator.
using Sink = std::function<Status(std::string_view bytes)>;

}  // namespace warpmark::evaluate
