// Values with a name and a unit in text, as customSmallerIsBetter, its history and CSV have them.
#pragma once

#include <string>
#include <string_view>

#include "exchange/imported.h"

namespace warpmark::exchange {

/// A unit as people write it ("ms", "MiB", "GB/s", "ops/sec") and the SI unit it stands for. What is not known is kept:
/// as it is.
struct Unit {
  std::string si;
  double scale = 1;
  double divisor = 1;  ///< 13 ms are 13 / 1000 s and not 13 * 0.001 s, which is another number
  [[nodiscard]] double to_si(double value) const { return value * scale / divisor; }
};
[[nodiscard]] Unit unit_of(std::string_view text);

/// "time" for seconds, "bandwidth" for B/s, "item_rate" for 1/s, "size" for bytes, else "value".
[[nodiscard]] const char* metric_for(std::string_view si_unit);

/// One element of customSmallerIsBetter: {"name", "unit", "value", "range"?, "extra"?}; the value may be a text. Fails
/// the fields where it is no number.
[[nodiscard]] Status read_named_value(JsonFields& fields, Better better, Session& session);

}  // namespace warpmark::exchange
