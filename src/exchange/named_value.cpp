#include "exchange/named_value.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::exchange {
namespace {

struct Known {
  std::string_view text;
  const char* si;
  double scale;
  double divisor = 1;
};

constexpr std::array kUnits{Known{"s", "s", 1},
                            Known{"sec", "s", 1},
                            Known{"secs", "s", 1},
                            Known{"second", "s", 1},
                            Known{"seconds", "s", 1},
                            Known{"ms", "s", 1, 1e3},
                            Known{"msec", "s", 1, 1e3},
                            Known{"milliseconds", "s", 1, 1e3},
                            Known{"us", "s", 1, 1e6},
                            Known{"usec", "s", 1, 1e6},
                            Known{"microseconds", "s", 1, 1e6},
                            Known{"\xC2\xB5s", "s", 1, 1e6},
                            Known{"\xCE\xBCs", "s", 1, 1e6},
                            Known{"ns", "s", 1, 1e9},
                            Known{"ns/iter", "s", 1, 1e9},
                            Known{"ns/op", "s", 1, 1e9},
                            Known{"ms/iter", "s", 1, 1e3},
                            Known{"us/iter", "s", 1, 1e6},
                            Known{"min", "s", 60},
                            Known{"B", "B", 1},
                            Known{"bytes", "B", 1},
                            Known{"kB", "B", 1e3},
                            Known{"KB", "B", 1e3},
                            Known{"MB", "B", 1e6},
                            Known{"GB", "B", 1e9},
                            Known{"KiB", "B", 1024.0},
                            Known{"MiB", "B", 1048576.0},
                            Known{"GiB", "B", 1073741824.0},
                            Known{"B/s", "B/s", 1},
                            Known{"kB/s", "B/s", 1e3},
                            Known{"KB/s", "B/s", 1e3},
                            Known{"MB/s", "B/s", 1e6},
                            Known{"GB/s", "B/s", 1e9},
                            Known{"KiB/s", "B/s", 1024.0},
                            Known{"MiB/s", "B/s", 1048576.0},
                            Known{"GiB/s", "B/s", 1073741824.0},
                            Known{"ops/s", "1/s", 1},
                            Known{"ops/sec", "1/s", 1},
                            Known{"iter/sec", "1/s", 1},
                            Known{"iter/s", "1/s", 1},
                            Known{"1/s", "1/s", 1},
                            Known{"FLOP/s", "FLOP/s", 1},
                            Known{"GFLOP/s", "FLOP/s", 1e9},
                            Known{"TFLOP/s", "FLOP/s", 1e12},
                            Known{"GFLOPS", "FLOP/s", 1e9},
                            Known{"TFLOPS", "FLOP/s", 1e12},
                            Known{"J", "J", 1},
                            Known{"W", "W", 1}};

}  // namespace

Unit unit_of(std::string_view text) {
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Known& known) { return known.text == text; });
  if (found == kUnits.end()) return {clean_text(text)};
  return {found->si, found->scale, found->divisor};
}

const char* metric_for(std::string_view si_unit) {
  if (si_unit == "s") return "time";
  if (si_unit == "B/s") return "bandwidth";
  if (si_unit == "1/s") return "item_rate";
  if (si_unit == "FLOP/s") return "flop_rate";
  if (si_unit == "B") return "size";
  if (si_unit == "J") return "energy";
  return "value";
}

Status read_named_value(JsonFields& fields, Better better, Session& session) {
  std::string name, unit_text;
  double value = 0;
  fields.required("name", name);
  fields.maybe("unit", unit_text);
  if (fields.has("value") && fields.json()["value"].is_string()) {
    const std::string text = fields.json()["value"].get<std::string>();
    const auto number = parse_number(trim(text));
    if (number.ok()) {
      value = *number;
    } else {
      fields.fail("value", "must be a number, not '" + clean_text(text) + "'");
    }
  } else {
    fields.required("value", value);
  }
  const Unit unit = unit_of(unit_text);
  Run& run = add_run(session, name, kUnknownDevice);
  keep_name(run);
  for (const char* key : {"range", "extra"}) {
    if (!fields.has(key)) continue;
    const Json& text = fields.json()[key];
    run.notes.emplace_back(key, clean_text(text.is_string() ? text.get<std::string>() : text.dump()));
  }
  return add_metric(run, {metric_for(unit.si), unit.si.c_str(), better}, {unit.to_si(value)});
}

}  // namespace warpmark::exchange
