// A flat object of numbers, {"latency_p50_ms": 12.3, "throughput": [448.1, 451.7]}: what scripts write by json.dump. A
// list holds samples; texts and truth values are facts about the run. Units are those of the name's ending, and whether
// more is better is what the name says; where it says nothing, `--better NAME=higher` of `warpmark history import`
// does.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "exchange/format.h"
#include "exchange/named_value.h"

namespace warpmark::exchange {
namespace {

bool is_numbers(const Json& value) {
  if (value.is_number()) return true;
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number(); });
}

bool detect_flat(const Document& document) {
  if (!document.json || !document.json->is_object() || document.json->contains("schema")) return false;
  bool any = false;
  for (const auto& item : *document.json) {
    if (is_numbers(item)) {
      any = true;
    } else if (!item.is_string() && !item.is_boolean() && !item.is_null()) {
      return false;
    }
  }
  return any;
}

/// The words of a name: "p99_latencyMs" is p99, latency, ms; "top1GPUs" is top1, gpus.
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
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

struct Ending {
  std::string_view word;
  const char* unit;  ///< of unit_of()
};
constexpr std::array kEndings{Ending{"s", "s"},           Ending{"sec", "s"},     Ending{"secs", "s"},
                              Ending{"seconds", "s"},     Ending{"ms", "ms"},     Ending{"us", "us"},
                              Ending{"ns", "ns"},         Ending{"bytes", "B"},   Ending{"kb", "kB"},
                              Ending{"mb", "MB"},         Ending{"gb", "GB"},     Ending{"mib", "MiB"},
                              Ending{"gib", "GiB"},       Ending{"gbps", "GB/s"}, Ending{"tflops", "TFLOPS"},
                              Ending{"gflops", "GFLOPS"}, Ending{"watts", "W"},   Ending{"joules", "J"}};

/// "samples_per_sec" is a rate and no time.
const char* unit_in(const std::vector<std::string>& words) {
  if (words.size() < 2) return "";
  const bool rate = words[words.size() - 2] == "per";
  const auto found =
      std::find_if(kEndings.begin(), kEndings.end(), [&](const Ending& ending) { return ending.word == words.back(); });
  if (found == kEndings.end()) return "";
  if (!rate) return found->unit;
  return std::string_view(found->unit) == "s" ? "1/s" : "";
}

bool has_word(const std::vector<std::string>& words, std::span<const std::string_view> known) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  });
}

/// By the field's own words. Rates first: "samples_per_ms" is no time.
Better direction_in(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 31> kHigher{
      "throughput", "per",         "rate",   "qps",   "rps",     "tps",   "iops",      "fps",
      "flops",      "tflops",      "gflops", "gbps",  "busbw",   "algbw", "bandwidth", "accuracy",
      "acc",        "f1",          "bleu",   "rouge", "auc",     "map",   "score",     "speedup",
      "efficiency", "utilization", "util",   "mfu",   "samples", "hits",  "goodput"};
  constexpr std::array<std::string_view, 29> kLower{
      "time", "latency",    "ttft",    "tpot",   "itl",    "duration", "elapsed", "ms",   "us",    "ns",
      "sec",  "secs",       "seconds", "s",      "memory", "mem",      "bytes",   "loss", "error", "errors",
      "wer",  "perplexity", "ppl",     "energy", "power",  "watts",    "joules",  "cost", "misses"};
  if (has_word(words, kHigher)) return Better::higher;
  if (has_word(words, kLower)) return Better::lower;
  return Better::neither;
}

Status read_flat_metric(const std::string& name, const Json& value, Session& session) {
  const auto words = words_of_name(name);
  const Unit unit = unit_of(unit_in(words));
  std::vector<double> samples;
  if (value.is_number()) {
    samples.push_back(unit.to_si(value.get<double>()));
  } else {
    for (const auto& item : value) samples.push_back(unit.to_si(item.get<double>()));
  }
  Run& run = add_run(session, name, kUnknownDevice);
  keep_name(run);
  // One after another in one run of the script, or one a run: nobody knows, so they are not taken for rounds.
  return add_metric(run, {metric_for(unit.si), unit.si.c_str(), direction_in(words)}, std::move(samples));
}

Result<std::vector<Session>> read_flat(const Document& document) {
  if (!detect_flat(document)) {
    return data_error("it is no flat JSON object of numbers", "such as {\"latency_ms\": 12.3, \"throughput\": 450}");
  }
  Session session = foreign_session("flat JSON");
  ResultLimit limit(document.text);
  for (const auto& [name, value] : document.json->items()) {
    if (!is_numbers(value)) continue;
    WM_TRY(read_flat_metric(name, value, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kFlatMetrics{"flat", "a flat JSON object of numbers, {\"metric\": value}", detect_flat, read_flat,
                                 nullptr};

}  // namespace warpmark::exchange
