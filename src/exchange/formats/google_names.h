// Names that the JSON and the CSV of Google Benchmark share.
#pragma once

#include <string>
#include <string_view>

#include "exchange/quantities.h"

namespace warpmark::exchange {

/// What an entry is called without the ending of an aggregate ("_mean", "_BigO", ...); the whole name where it has
/// none.
[[nodiscard]] std::string_view google_base_name(std::string_view name);

/// What a key of an entry holds: a time, a rate, or else a user's counter, for which the format has no unit. Views
/// `key`.
[[nodiscard]] Quantity google_quantity(const std::string& key);

}  // namespace warpmark::exchange
