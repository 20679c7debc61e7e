// The formats of results that can be imported, exported, or both.
#pragma once

#include <string>
#include <vector>

#include "base/catalog.h"
#include "exchange/format.h"

namespace warpmark::exchange {

[[nodiscard]] Catalog<Format> formats();

/// Ids of the formats that can be read, or written.
[[nodiscard]] std::vector<std::string> readable_formats();
[[nodiscard]] std::vector<std::string> writable_formats();

}  // namespace warpmark::exchange
