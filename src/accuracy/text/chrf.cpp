#include "accuracy/text/chrf.h"

#include <fmt/format.h>

#include <vector>

#include "accuracy/text/bleu.h"
#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

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
