#include "accuracy/text/bleu.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

constexpr double kDefaultFloor = 0.1, kDefaultAddK = 1;

const char* name_of_smoothing(BleuSmoothing smoothing) {
  switch (smoothing) {
    case BleuSmoothing::none: return "none";
    case BleuSmoothing::floor: return "floor";
    case BleuSmoothing::add_k: return "add-k";
    case BleuSmoothing::exp: return "exp";
  }
  return "";
}

double value_of_smoothing(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? kDefaultFloor : kDefaultAddK);
}

/// sacreBLEU's logarithm, whose value for 0 makes the geometric mean 0.
double safe_log(double value) { return value == 0 ? -9999999999.0 : std::log(value); }

}  // namespace

Ngrams BleuCounter::ngrams_of(std::string_view line) {
  const std::string_view right = stripped_right(line);
  const std::string text = options_.tokenizer.separate(options_.lowercase ? lower_case(right) : std::string(right));
  std::vector<std::uint32_t> items;
  for (const auto word : words_of(text)) items.push_back(vocabulary_.number_of(word));
  return {items, kWordKeys};
}

BleuStatistics BleuCounter::count(std::string_view hypothesis, std::span<const std::string> references) {
  const Ngrams ours = ngrams_of(hypothesis);
  std::vector<Ngrams> theirs;
  theirs.reserve(references.size());
  for (const auto& reference : references) theirs.push_back(ngrams_of(reference));
  BleuStatistics statistics{.hypothesis_length = ours.length(), .reference_length = -1};
  std::int64_t nearest = 0;
  for (const auto& reference : theirs) {
    const std::int64_t distance = std::llabs(ours.length() - reference.length());
    const bool first = statistics.reference_length < 0;
    if (first || distance < nearest || (distance == nearest && reference.length() < statistics.reference_length)) {
      nearest = distance;
      statistics.reference_length = reference.length();
    }
  }
  if (statistics.reference_length < 0) statistics.reference_length = 0;
  for (unsigned order = 1; order <= options_.most_words; ++order) {
    statistics.matches[order - 1] = ours.matches(theirs, order);
    statistics.totals[order - 1] = ours.total(order);
  }
  return statistics;
}

BleuScore bleu_of(const BleuStatistics& sums, const BleuOptions& options) {
  BleuScore result;
  if (sums.hypothesis_length >= sums.reference_length) {
    result.brevity_penalty = 1;
  } else if (sums.hypothesis_length > 0) {
    result.brevity_penalty =
        std::exp(1 - static_cast<double>(sums.reference_length) / static_cast<double>(sums.hypothesis_length));
  }
  std::int64_t any = 0;
  for (unsigned n = 0; n < options.most_words; ++n) any += sums.matches[n];
  if (any == 0) return result;
  double halved = 1;
  unsigned order = options.most_words;
  for (unsigned n = 0; n < options.most_words; ++n) {
    auto matches = static_cast<double>(sums.matches[n]), total = static_cast<double>(sums.totals[n]);
    if (options.smoothing == BleuSmoothing::add_k && n > 0) {
      matches += value_of_smoothing(options);
      total += value_of_smoothing(options);
    }
    if (total == 0) break;
    if (options.effective_order) order = n + 1;
    if (matches > 0) {
      result.precisions[n] = 100 * matches / total;
    } else if (options.smoothing == BleuSmoothing::exp) {
      halved *= 2;
      result.precisions[n] = 100 / (halved * total);
    } else if (options.smoothing == BleuSmoothing::floor) {
      result.precisions[n] = 100 * value_of_smoothing(options) / total;
    }
  }
  double logs = 0;
  for (unsigned n = 0; n < order; ++n) logs += safe_log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logs / order);
  return result;
}

std::string bleu_signature(const BleuOptions& options, std::size_t references) {
  std::string smoothing = name_of_smoothing(options.smoothing);
  const bool has_value = options.smoothing == BleuSmoothing::floor || options.smoothing == BleuSmoothing::add_k;
  if (has_value) smoothing += fmt::format("[{:.2f}]", value_of_smoothing(options));
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:{}",
                     references == 0 ? "var" : std::to_string(references), options.lowercase ? "lc" : "mixed",
                     options.effective_order ? "yes" : "no", options.tokenizer.id, smoothing, kSacrebleuVersion);
}

Result<BleuSmoothing> bleu_smoothing(std::string_view name) {
  for (const auto smoothing : {BleuSmoothing::none, BleuSmoothing::floor, BleuSmoothing::add_k, BleuSmoothing::exp}) {
    if (name == name_of_smoothing(smoothing)) return smoothing;
  }
  return usage_error("there is no smoothing '" + std::string(name) + "'", "smoothings: exp, floor, add-k, none");
}

}  // namespace warpmark::accuracy
