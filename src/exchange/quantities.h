// The one table of what columns, keys and units of other tools mean: SI unit, scale and direction. Readers ask it and
// have no lists of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exchange/imported.h"

namespace warpmark::exchange {

/// A unit as people write it ("ms", "MiB", "Gbit/s", "ops/sec") and the SI unit it stands for. What is not known is
/// kept as it is.
struct Unit {
  std::string si;
  double scale = 1;
  double divisor = 1;  ///< 13 ms are 13 / 1000 s and not 13 * 0.001 s, which is another number
  [[nodiscard]] double to_si(double value) const { return value * scale / divisor; }
};
[[nodiscard]] Unit unit_of(std::string_view text);

/// "time" for seconds, "bandwidth" for B/s, "item_rate" for 1/s, "size" for bytes, else "value".
[[nodiscard]] const char* metric_for(std::string_view si_unit);

/// Less is better of times, bytes and energy, more of rates.
[[nodiscard]] Better direction_of_unit(std::string_view si_unit);

/// What a column or key holds, by the words of its name: "latency_p99_ms" is the time "latency_p99" in ms,
/// "throughput_samples_sec" a rate, "p99 (us)" has its unit in brackets.
struct Described {
  std::string id;  ///< the name without its unit
  Unit unit;
  Better better = Better::neither;
};
[[nodiscard]] Described described(std::string_view name);
/// `unit_text`, where the file has a unit beside the name, counts above the name.
[[nodiscard]] Described described(std::string_view name, std::string_view unit_text);

/// A name from which described() gives back the metric's id, unit and direction: "phase_seconds" of "phase" in s.
/// Nothing where there is none.
[[nodiscard]] std::optional<std::string> name_that_describes(const Metric& metric);

/// The words of a name in small letters: "p99_latencyMs" is p99, latency, ms.
[[nodiscard]] std::vector<std::string> words_of_name(std::string_view name);

/// Adds a metric as `what` describes it; the values are in the file's unit.
[[nodiscard]] Status add_described(Run& run, const Described& what, std::vector<double> values,
                                   Grouping grouping = Grouping::one_round);

/// One element of customSmallerIsBetter: {"name", "unit", "value", "range"?, "extra"?}; the value may be a text. Fails
/// the fields where it is no number. Without `better` a rate is better high, and everything else low.
[[nodiscard]] Status read_named_value(JsonFields& fields, std::optional<Better> better, Session& session);

}  // namespace warpmark::exchange
