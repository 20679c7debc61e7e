// Units as people write them: a prefix, a base, and perhaps "per second".
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

enum class Prefixes { none, small, large };

struct Base {
  std::string_view word;
  const char* si;
  double scale;
  Prefixes prefixes;
};

/// Longest words first, as "Gbit" ends with "t" and with "bit".
constexpr std::array kBases{Base{"seconds", "s", 1, Prefixes::small}, Base{"second", "s", 1, Prefixes::small},
                            Base{"secs", "s", 1, Prefixes::small},    Base{"sec", "s", 1, Prefixes::small},
                            Base{"minutes", "s", 60, Prefixes::none}, Base{"minute", "s", 60, Prefixes::none},
                            Base{"min", "s", 60, Prefixes::none},     Base{"hours", "s", 3600, Prefixes::none},
                            Base{"hour", "s", 3600, Prefixes::none},  Base{"bytes", "B", 1, Prefixes::large},
                            Base{"Bytes", "B", 1, Prefixes::large},   Base{"byte", "B", 1, Prefixes::large},
                            Base{"Byte", "B", 1, Prefixes::large},    Base{"bits", "B", 0.125, Prefixes::large},
                            Base{"bit", "B", 0.125, Prefixes::large}, Base{"FLOPs", "FLOP", 1, Prefixes::large},
                            Base{"FLOP", "FLOP", 1, Prefixes::large}, Base{"Flops", "FLOP", 1, Prefixes::large},
                            Base{"Flop", "FLOP", 1, Prefixes::large}, Base{"flops", "FLOP", 1, Prefixes::large},
                            Base{"flop", "FLOP", 1, Prefixes::large}, Base{"joules", "J", 1, Prefixes::small},
                            Base{"watts", "W", 1, Prefixes::small},   Base{"Hz", "Hz", 1, Prefixes::large},
                            Base{"h", "s", 3600, Prefixes::none},     Base{"s", "s", 1, Prefixes::small},
                            Base{"B", "B", 1, Prefixes::large},       Base{"b", "B", 0.125, Prefixes::large},
                            Base{"J", "J", 1, Prefixes::small},       Base{"W", "W", 1, Prefixes::small}};

/// Things that are counted; as a rate they are 1/s.
constexpr std::array<std::string_view, 53> kCounted{
    "1",          "op",     "ops",      "operations", "iter",    "iters",        "iterations", "it",       "items",
    "item",       "tokens", "token",    "tok",        "samples", "sample",       "requests",   "request",  "req",
    "reqs",       "images", "image",    "img",        "imgs",    "queries",      "query",      "frames",   "frame",
    "seq",        "seqs",   "sequence", "sequences",  "steps",   "transactions", "events",     "calls",    "rows",
    "records",    "pkts",   "packets",  "messages",   "msgs",    "loops",        "elements",   "examples", "patches",
    "inferences", "elem",   "elems",    "epoch",      "epochs",  "step",         "batch",      "batches"};

struct Prefix {
  std::string_view text;
  double scale, divisor;
  Prefixes kind;
};
constexpr std::array kPrefixes{Prefix{"", 1, 1, Prefixes::none},
                               Prefix{"k", 1e3, 1, Prefixes::large},
                               Prefix{"K", 1e3, 1, Prefixes::large},
                               Prefix{"M", 1e6, 1, Prefixes::large},
                               Prefix{"G", 1e9, 1, Prefixes::large},
                               Prefix{"T", 1e12, 1, Prefixes::large},
                               Prefix{"P", 1e15, 1, Prefixes::large},
                               Prefix{"Ki", 1024.0, 1, Prefixes::large},
                               Prefix{"Mi", 1048576.0, 1, Prefixes::large},
                               Prefix{"Gi", 1073741824.0, 1, Prefixes::large},
                               Prefix{"Ti", 1099511627776.0, 1, Prefixes::large},
                               Prefix{"kilo", 1e3, 1, Prefixes::large},
                               Prefix{"mega", 1e6, 1, Prefixes::large},
                               Prefix{"giga", 1e9, 1, Prefixes::large},
                               Prefix{"m", 1, 1e3, Prefixes::small},
                               Prefix{"u", 1, 1e6, Prefixes::small},
                               Prefix{"\xC2\xB5", 1, 1e6, Prefixes::small},
                               Prefix{"\xCE\xBC", 1, 1e6, Prefixes::small},
                               Prefix{"n", 1, 1e9, Prefixes::small},
                               Prefix{"p", 1, 1e12, Prefixes::small},
                               Prefix{"milli", 1, 1e3, Prefixes::small},
                               Prefix{"micro", 1, 1e6, Prefixes::small},
                               Prefix{"nano", 1, 1e9, Prefixes::small}};

/// All in small letters, as scripts write them: bytes, and the prefix is a large one.
struct SmallLetters {
  std::string_view word;
  double bytes;
};
constexpr std::array kSmallLetters{SmallLetters{"kb", 1e3},          SmallLetters{"mb", 1e6},
                                   SmallLetters{"gb", 1e9},          SmallLetters{"tb", 1e12},
                                   SmallLetters{"kib", 1024.0},      SmallLetters{"mib", 1048576.0},
                                   SmallLetters{"gib", 1073741824.0}};

const Prefix* prefix_of(std::string_view text) {
  const auto found =
      std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](const auto& one) { return one.text == text; });
  return found == kPrefixes.end() ? nullptr : &*found;
}

std::optional<Unit> amount_of(std::string_view text) {
  for (const auto& small : kSmallLetters) {
    if (text == small.word) return Unit{"B", small.bytes};
  }
  for (const Base& base : kBases) {
    if (!text.ends_with(base.word)) continue;
    const Prefix* prefix = prefix_of(trim(text.substr(0, text.size() - base.word.size())));
    const bool fits = prefix != nullptr && (prefix->kind == Prefixes::none || prefix->kind == base.prefixes ||
                                            (base.si[0] == 'J' || base.si[0] == 'W'));
    if (fits) return Unit{base.si, prefix->scale * base.scale, prefix->divisor};
  }
  return std::nullopt;
}

/// "ops", "Mops", "k tokens": how many of them.
std::optional<double> count_of(std::string_view text) {
  for (const auto word : kCounted) {
    if (!text.ends_with(word)) continue;
    const Prefix* prefix = prefix_of(trim(text.substr(0, text.size() - word.size())));
    if (prefix != nullptr && prefix->kind != Prefixes::small) return prefix->scale;
  }
  return std::nullopt;
}

Unit per_second(const Unit& amount) { return {amount.si + "/s", amount.scale, amount.divisor}; }

std::optional<Unit> rate_of(std::string_view amount, double seconds) {
  const auto count = count_of(amount);
  auto unit = count ? std::optional(Unit{"1", *count}) : amount_of(amount);
  if (!unit || unit->si == "s") return std::nullopt;
  unit->divisor *= seconds;
  return per_second(*unit);
}

/// "Gbps", "tps", "IOPS", "TFLOPS": rates without a stroke.
std::optional<Unit> abbreviated_rate(std::string_view text) {
  constexpr std::array<std::string_view, 12> kRates{"tps", "fps", "qps", "rps", "iops", "pps",
                                                    "TPS", "FPS", "QPS", "RPS", "IOPS", "PPS"};
  for (const auto rate : kRates) {
    if (!text.ends_with(rate)) continue;
    const Prefix* prefix = prefix_of(trim(text.substr(0, text.size() - rate.size())));
    if (prefix != nullptr && prefix->kind != Prefixes::small) return Unit{"1/s", prefix->scale};
  }
  constexpr std::array<std::string_view, 4> kSmallBits{"kbps", "mbps", "gbps", "tbps"};
  for (std::size_t i = 0; i < kSmallBits.size(); ++i) {
    if (text == kSmallBits[i]) return Unit{"B/s", std::array{125.0, 125e3, 125e6, 125e9}[i]};
  }
  for (const std::string_view end : {"FLOPS", "FLOPs", "Flops", "flops", "flop/s"}) {
    if (!text.ends_with(end)) continue;
    std::string prefix(trim(text.substr(0, text.size() - end.size())));
    if (prefix.size() == 1 && prefix[0] >= 'a') prefix[0] = static_cast<char>(prefix[0] - 'a' + 'A');  // "tflops"
    const Prefix* found = prefix_of(prefix == "K" ? "k" : prefix);
    if (found != nullptr) return Unit{"FLOP/s", found->scale};
  }
  if (text.size() > 2 && text.ends_with("ps")) {
    const auto amount = amount_of(text.substr(0, text.size() - 2));
    if (amount && amount->si == "B") return per_second(*amount);
  }
  return std::nullopt;
}

}  // namespace

Unit unit_of(std::string_view written) {
  std::string_view text = trim(written);
  while (text.size() > 2 &&
         ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']'))) {
    text = trim(text.substr(1, text.size() - 2));
  }
  if (const auto rate = abbreviated_rate(text)) return *rate;
  for (const std::string_view stroke : {"/", " per ", "_per_"}) {
    const auto at = text.rfind(stroke);
    if (at == std::string_view::npos) continue;
    const auto amount = trim(text.substr(0, at)), denominator = trim(text.substr(at + stroke.size()));
    const auto time = amount_of(denominator);
    if (time && time->si == "s") {
      if (const auto rate = rate_of(amount, time->scale / time->divisor)) return *rate;
    } else if (const auto each = amount_of(amount); each && count_of(denominator)) {
      return *each;  // ns/iter
    }
  }
  if (const auto amount = amount_of(text)) return *amount;
  return {clean_text(written)};
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

Better direction_of_unit(std::string_view si_unit) {
  if (si_unit == "s" || si_unit == "B" || si_unit == "J") return Better::lower;
  return si_unit.ends_with("/s") ? Better::higher : Better::neither;
}

}  // namespace warpmark::exchange
