// What a file is that is no format of results: the first thing to know for a person who named the wrong one.
#pragma once

#include <string>

#include "exchange/format.h"

namespace warpmark::exchange {

/// "an HTML page", "JSON with the keys 'a', 'b'", ...
[[nodiscard]] std::string looks_like(const Document& document);

}  // namespace warpmark::exchange
