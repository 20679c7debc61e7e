#include "exchange/quantities.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::exchange {
namespace {

using Words = std::vector<std::string>;

bool is_one_of(std::string_view word, std::span<const std::string_view> known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

bool has_word(const Words& words, std::span<const std::string_view> known) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return is_one_of(word, known); });
}

/// Words that say which statistic it is, and may stand behind the unit: "latency_ms_p99".
bool is_statistic(std::string_view word) {
  constexpr std::array<std::string_view, 12> kStatistics{"mean", "avg", "average", "median", "min",   "max",
                                                         "std",  "sum", "total",   "stddev", "stdev", "peak"};
  const bool percentile = word.size() > 1 && word[0] == 'p' && word.find_first_not_of("0123456789", 1) == word.npos;
  return percentile || is_one_of(word, kStatistics);
}

constexpr std::array<std::string_view, 4> kSecond{"s", "sec", "second", "seconds"};
constexpr std::array<std::string_view, 5> kRateWords{"throughput", "goodput", "rate", "speed", "per"};

/// Units that stand in names; "s" and "b" alone would be found in too many.
bool is_unit_word(std::string_view word) {
  constexpr std::array<std::string_view, 30> kWords{
      "s",      "sec",    "secs",  "seconds", "ms",      "msec",  "us",  "usec", "ns",   "nsec",
      "bytes",  "kb",     "mb",    "gb",      "tb",      "kib",   "mib", "gib",  "gbps", "mbps",
      "tflops", "gflops", "watts", "joules",  "minutes", "hours", "mhz", "ghz",  "w",    "j"};
  return is_one_of(word, kWords);
}

Unit unit_of_word(std::string_view word, const Words& words) {
  constexpr std::array<std::string_view, 6> kNetwork{"net", "network", "nic", "ethernet", "iperf", "wan"};
  // In names of collectives and memory "gbps" are gigabytes; in those of networks bits.
  if (word == "gbps" && !has_word(words, kNetwork)) return {"B/s", 1e9};
  if (word == "mbps" && !has_word(words, kNetwork)) return {"B/s", 1e6};
  if (word == "mhz") return {"Hz", 1e6};
  if (word == "ghz") return {"Hz", 1e9};
  if (word == "w") return {"W"};
  if (word == "j") return {"J"};
  return unit_of(word);
}

bool is_device(std::string_view word) {
  constexpr std::array<std::string_view, 8> kDevices{"gpu",  "device", "chip",   "node",
                                                     "core", "rank",   "worker", "replica"};
  return is_one_of(word, kDevices);
}

/// "cost_usd_per_hour", "price": no rate in time, and the less the better. "tokens_per_dollar" is none.
bool is_money(const Words& words) {
  constexpr std::array<std::string_view, 6> kMoney{"usd", "eur", "dollar", "dollars", "price", "cost"};
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& word) { return is_one_of(word, kMoney); });
  if (found == words.end() || (found != words.begin() && *(found - 1) == "per")) return false;
  return *found != "cost" || std::find(found, words.end(), "per") != words.end() ||
         std::any_of(found + 1, words.end(), [&](const auto& word) { return is_one_of(word, kMoney); });
}

/// Takes the unit off the end of the words.
Unit take_unit(Words& words) {
  Words statistics;
  if (words.size() > 3 && words[words.size() - 2] == "per" && is_device(words.back())) {
    statistics.assign(words.end() - 2, words.end());
    words.resize(words.size() - 2);
  }
  while (words.size() > 1 && is_statistic(words.back())) {
    statistics.insert(statistics.begin(), words.back());
    words.pop_back();
  }
  const auto give_back = [&](std::size_t taken, Unit unit) {
    words.resize(words.size() - taken);
    words.insert(words.end(), statistics.begin(), statistics.end());
    return unit;
  };
  const std::size_t n = words.size();
  if (n >= 3 && words[n - 2] == "per") {
    const Unit rate = unit_of(words[n - 3] + "/" + words[n - 1]);
    if (rate.si.ends_with("/s") && rate.si != "1/s") return give_back(3 - (n == 3 ? 1 : 0), rate);
    if (rate.si == "1/s") return give_back(2, rate);  // "tokens" stays
    if (unit_of("1/" + words[n - 1]).si == "1/s") return give_back(2, unit_of("1/" + words[n - 1]));
    if (is_unit_word(words[n - 3])) return give_back(0, unit_of_word(words[n - 3], words));  // "ms_per_token"
  }
  if (n >= 2 && is_one_of(words[n - 1], kSecond)) {
    const Unit rate = unit_of(words[n - 2] + "/s");  // "throughput_samples_sec"
    if (rate.si == "B/s" && is_unit_word(words[n - 2])) return give_back(2, rate);
    if (rate.si == "1/s" || has_word(words, kRateWords)) return give_back(1, rate.si == "1/s" ? rate : Unit{"1/s"});
  }
  if (n >= 2 && is_unit_word(words[n - 1])) return give_back(1, unit_of_word(words[n - 1], words));
  const bool counted =
      std::any_of(words.begin(), words.end(), [](const auto& word) { return unit_of(word + "/s").si == "1/s"; });
  constexpr std::array<std::string_view, 2> kThroughput{"throughput", "goodput"};
  if (counted && has_word(words, kThroughput)) return give_back(0, {"1/s"});
  return give_back(0, {});
}

constexpr std::array<std::string_view, 11> kErrorWords{"error",   "errors", "miss",     "misses",   "drop",  "drops",
                                                       "dropped", "loss",   "failures", "timeouts", "failed"};

/// By the field's own words, where the unit does not decide.
Better direction_in(const Words& words, const std::string& si_unit) {
  constexpr std::array<std::string_view, 5> kSaved{"saved", "saving", "savings", "reduction", "speedup"};
  constexpr std::array<std::string_view, 29> kHigher{
      "throughput", "rate",    "qps",        "rps",         "tps",  "iops", "fps",  "flops",   "tflops", "gflops",
      "busbw",      "algbw",   "accuracy",   "bandwidth",   "acc",  "f1",   "bleu", "rouge",   "auc",    "map",
      "score",      "speedup", "efficiency", "utilization", "util", "mfu",  "hits", "goodput", "bw"};
  constexpr std::array<std::string_view, 33> kLower{
      "time",     "latency", "ttft",   "tpot",     "itl",    "duration",   "elapsed", "ms",         "us",
      "ns",       "memory",  "mem",    "bytes",    "loss",   "error",      "errors",  "perplexity", "ppl",
      "energy",   "power",   "wer",    "watts",    "cost",   "misses",     "joules",  "delay",      "wait",
      "overhead", "jitter",  "failed", "failures", "allocs", "allocations"};
  constexpr std::array<std::string_view, 5> kSpread{"std", "stddev", "stdev", "cv", "variance"};
  if (has_word(words, kSaved)) return Better::higher;
  if (has_word(words, kSpread)) return Better::lower;
  if (si_unit == "s" || has_word(words, kErrorWords) || is_money(words)) return Better::lower;
  if (si_unit.ends_with("/s")) return Better::higher;
  if (has_word(words, kHigher)) return Better::higher;
  if (has_word(words, kLower)) return Better::lower;
  return Better::neither;
}

/// A unit that people write with a stroke, or one word that is nothing but a unit: "min" is a statistic, "h" a height,
/// "flops" may be a count.
std::optional<Unit> written_unit(std::string_view text) {
  constexpr std::array<std::string_view, 5> kKnown{"s", "B/s", "1/s", "FLOP/s", "B"};
  Unit unit = unit_of(text);
  if (!is_one_of(unit.si, kKnown)) return {};
  if (text.find('/') != text.npos) return unit;
  const bool word = text.size() > 1 && text.find_first_of(" _-.") == text.npos && !is_statistic(text);
  const bool may_count = unit.si == "B" || (unit.si == "FLOP/s" && unit.scale == 1);
  return word && !may_count ? std::optional(std::move(unit)) : std::nullopt;
}

/// "MB/s", "ms", "Bandwidth GB/s": in letters as they are written, as Mb are not MB.
std::optional<Described> ending_in_unit(std::string_view name) {
  Described found;
  if (const auto unit = written_unit(name)) {
    found = {.id = metric_for(unit->si), .unit = *unit};
    Words words = words_of_name(name);
    if (unit->si == "1/s" && words.size() > 1) words.pop_back();  // "tokens" of "tokens/s"
    if (unit->si == "1/s" && words.size() > 0 && words[0] != "1") found.id = join(words, "_");
    if (unit->si == "B") found.id = clean_text(name);
  } else {
    const auto blank = name.find_last_of(' ');
    if (blank == name.npos || name.find('/', blank) == name.npos) return {};
    const auto last = written_unit(name.substr(blank + 1));
    if (!last) return {};
    found = {.id = clean_text(trim(name.substr(0, blank))), .unit = *last};
  }
  found.better = direction_in(words_of_name(name), found.unit.si);
  if (found.better == Better::neither) found.better = direction_of_unit(found.unit.si);
  return found;
}

/// "gpu" of "samples/s/GPU"; else empty.
std::string device_behind(std::string_view name) {
  const auto stroke = name.rfind('/');
  if (stroke == name.npos) return {};
  const auto last = words_of_name(name.substr(stroke + 1));
  return last.size() == 1 && is_device(last[0]) ? last[0] : std::string();
}

}  // namespace

std::vector<std::string> words_of_name(std::string_view name) {
  Words words(1);
  bool after_upper = false;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    const bool letter = upper || digit || (c >= 'a' && c <= 'z');
    if ((!letter || (upper && !after_upper)) && !words.back().empty()) words.emplace_back();
    if (letter) words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
    after_upper = upper;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

Described described(std::string_view name) {
  const auto open = name.find_last_of("([");
  if (open != name.npos && open > 0 && (name.ends_with(')') || name.ends_with(']'))) {
    return described(trim(name.substr(0, open)), name.substr(open + 1, name.size() - open - 2));
  }
  if (auto found = ending_in_unit(trim(name))) return *std::move(found);
  const auto stroke = name.rfind('/');
  if (const std::string device = device_behind(name); !device.empty()) {
    const auto rest = name.substr(0, stroke);  // one device: a name of thousands of them is no rate
    auto each = device_behind(rest).empty() ? described(rest) : Described{};
    if (!each.unit.si.empty()) {
      each.id += "_per_" + device;  // "samples/s/GPU"
      return each;
    }
  }
  const Words all = words_of_name(name);
  Words words = all;
  Described found;
  if (!is_money(all)) found.unit = take_unit(words);
  const bool each_second = stroke != name.npos && words.size() + 1 == all.size() && is_one_of(all.back(), kSecond);
  if (each_second && found.unit.si == "s" &&
      (has_word(words, kErrorWords) || direction_in(words, "") != Better::lower)) {
    found.unit = {"1/s"};  // things that nobody here knows; "latency/s" is a time
  }
  found.id = found.unit.si.empty() ? clean_text(name) : join(words, "_");
  if (found.id.empty()) found.id = clean_text(name);
  found.better = direction_in(all, found.unit.si);
  return found;
}

Described described(std::string_view name, std::string_view unit_text) {
  if (trim(unit_text).empty()) return described(name);
  Described found{.id = clean_text(name), .unit = unit_of(unit_text)};
  found.better = direction_in(words_of_name(name), found.unit.si);
  if (found.better == Better::neither) found.better = direction_of_unit(found.unit.si);
  return found;
}

std::optional<std::string> name_that_describes(const Metric& metric) {
  for (const char* unit : {"", "_seconds", "_bytes", "_per_second", "_bytes_per_second", "_joules", "_watts"}) {
    const std::string name = metric.id + unit;
    const Described what = described(name);
    const bool same_unit = what.unit.si == metric.unit && what.unit.to_si(1) == 1;
    if (same_unit && what.id == metric.id && what.better == metric.better) return name;
  }
  return std::nullopt;
}

Status add_described(Run& run, const Described& what, std::vector<double> values, Grouping grouping) {
  for (double& value : values) value = what.unit.to_si(value);
  return add_metric(run, {what.id.c_str(), what.unit.si.c_str(), what.better}, std::move(values), grouping);
}

Status read_named_value(JsonFields& fields, std::optional<Better> better, Session& session) {
  std::string name, unit_text;
  double value = 0;
  fields.required("name", name);
  fields.maybe("unit", unit_text);
  const Json& json = fields.json();
  if (json.is_object() && json.contains("value") && json["value"].is_null()) {
    Run& run = add_run(session, name, kUnknownDevice);
    keep_name(run);
    run.outcome = Outcome::error;
    run.fault = ErrorKind::data;
    run.reason = "its value is not a number";
    return {};
  }
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
  const Better by_unit = unit.si.ends_with("/s") ? Better::higher : Better::lower;
  return add_metric(run, {metric_for(unit.si), unit.si.c_str(), better.value_or(by_unit)}, {unit.to_si(value)});
}

}  // namespace warpmark::exchange
