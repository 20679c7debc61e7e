#include "accuracy/text/bleu_chrf.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "accuracy/text/unicode.h"
#include "model/fields/names.h"

namespace warpmark::accuracy {
namespace {

constexpr double kDefaultFloor = 0.1, kDefaultAddK = 1;

constexpr auto kBleuSmoothingNames = in_order(BleuSmoothing::exp, "none", "floor", "add-k", "exp");
const char* name_of_smoothing(BleuSmoothing smoothing) {
  return name_in(kBleuSmoothingNames, static_cast<std::int64_t>(smoothing));
}

double value_of_smoothing(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? kDefaultFloor : kDefaultAddK);
}

/// sacreBLEU's logarithm, whose value for 0 makes the geometric mean 0.
double safe_log(double value) { return value == 0 ? -9999999999.0 : std::log(value); }

std::size_t length_in_characters(std::string_view word) {
  std::size_t count = 0;
  for (const char c : word) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

/// Punctuation at the end of a word, or else at its beginning, is a word of its own.
void append_chrf_words(std::string_view line, std::vector<std::string_view>& words) {
  for (const auto word : words_of(line)) {
    if (length_in_characters(word) == 1) {
      words.push_back(word);
    } else if (is_ascii_punctuation(static_cast<unsigned char>(word.back()))) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (is_ascii_punctuation(static_cast<unsigned char>(word.front()))) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
}

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

ChrfCounter::Counted ChrfCounter::counted(std::string_view line) {
  const std::string text = options_.lowercase ? lower_case(line) : std::string(line);
  std::vector<std::uint32_t> items;
  items.reserve(text.size());
  for (const char32_t c : code_points(text)) {
    // Above 0, as 0 stands for the end; the largest code point leaves room within 21 bits.
    if (options_.whitespace || !is_space(c)) items.push_back(static_cast<std::uint32_t>(c) + 1);
  }
  Counted result{.characters = Ngrams(items, kCharacterKeys), .words = {}};
  if (options_.words > 0) {
    std::vector<std::string_view> words;
    append_chrf_words(text, words);
    items.clear();
    for (const auto word : words) items.push_back(vocabulary_.number_of(word));
    result.words = Ngrams(items, kWordKeys);
  }
  return result;
}

ChrfStatistics ChrfCounter::count(std::string_view hypothesis, std::span<const std::string> references) {
  const Counted ours = counted(hypothesis);
  ChrfStatistics best;
  double best_score = -1;
  for (const auto& reference : references) {
    const Counted theirs = counted(reference);
    ChrfStatistics statistics;
    const auto fill = [](const Ngrams& hypothesis_ngrams, const Ngrams& reference_ngrams, unsigned order,
                         std::array<std::int64_t, 3>& into) {
      const auto total = reference_ngrams.total(order);
      into = {total > 0 ? hypothesis_ngrams.total(order) : 0, total,
              hypothesis_ngrams.matches({&reference_ngrams, 1}, order)};
    };
    for (unsigned n = 1; n <= options_.characters; ++n) {
      fill(ours.characters, theirs.characters, n, statistics.orders[n - 1]);
    }
    for (unsigned n = 1; n <= options_.words; ++n) {
      fill(ours.words, theirs.words, n, statistics.orders[options_.characters + n - 1]);
    }
    const double score = references.size() == 1 ? 0 : chrf_of(statistics, options_);
    if (score > best_score) {
      best_score = score;
      best = statistics;
    }
  }
  return best;
}

double chrf_of(const ChrfStatistics& sums, const ChrfOptions& options) {
  constexpr double kEpsilon = 1e-16;
  const double factor = options.beta * options.beta;
  const unsigned orders = options.characters + options.words;
  double score = 0, precision_sum = 0, recall_sum = 0;
  int effective = 0;
  for (unsigned i = 0; i < orders; ++i) {
    const auto& [hypothesis, reference, matches] = sums.orders[i];
    const double precision = hypothesis > 0 ? static_cast<double>(matches) / static_cast<double>(hypothesis) : kEpsilon;
    const double recall = reference > 0 ? static_cast<double>(matches) / static_cast<double>(reference) : kEpsilon;
    const double denominator = factor * precision + recall;
    score += denominator > 0 ? (1 + factor) * precision * recall / denominator : kEpsilon;
    if (hypothesis > 0 && reference > 0) {
      precision_sum += precision;
      recall_sum += recall;
      ++effective;
    }
  }
  if (options.eps_smoothing) return 100 * score / orders;
  if (effective == 0 || precision_sum + recall_sum == 0) return 0;
  const double precision = precision_sum / effective, recall = recall_sum / effective;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

std::string chrf_signature(const ChrfOptions& options, std::size_t references) {
  return fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|version:{}",
                     references == 0 ? "var" : std::to_string(references), options.lowercase ? "lc" : "mixed",
                     options.eps_smoothing ? "no" : "yes", options.characters, options.words,
                     options.whitespace ? "yes" : "no", kSacrebleuVersion);
}

}  // namespace warpmark::accuracy
