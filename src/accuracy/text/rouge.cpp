#include "accuracy/text/rouge.h"

#include <algorithm>
#include <map>

#include "accuracy/text/porter.h"
#include "base/lines/line_file.h"

namespace warpmark::accuracy {
namespace {

constexpr std::size_t kShortestStemmed = 4;

/// Calls `word` with each run of ASCII letters and digits, in lower case. Python lowers first, which makes an ASCII
/// letter of two others: the Kelvin sign is k, and the dotted capital I is i and a mark that separates.
template <typename Word>
void each_rouge_word(std::string_view text, Word word) {
  constexpr std::string_view kKelvin = "\xE2\x84\xAA", kDottedI = "\xC4\xB0";
  std::string run;
  const auto end_run = [&] {
    if (!run.empty()) word(run);
    run.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      run += c;
    } else if (c >= 'A' && c <= 'Z') {
      run += static_cast<char>(c + 32);
    } else if (text.substr(i).starts_with(kKelvin)) {
      run += 'k';
      i += kKelvin.size() - 1;
    } else if (text.substr(i).starts_with(kDottedI)) {
      run += 'i';
      end_run();
      i += kDottedI.size() - 1;
    } else {
      end_run();
    }
  }
  end_run();
}

double share(std::size_t hits, std::size_t of) {
  return static_cast<double>(hits) / static_cast<double>(std::max<std::size_t>(of, 1));
}

/// Sorted n-grams, each as its words' places; n is small, so that comparing them is cheap.
std::vector<std::size_t> sorted_starts(std::span<const std::uint32_t> items, std::size_t n) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i + n <= items.size(); ++i) starts.push_back(i);
  std::sort(starts.begin(), starts.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(&items[a], &items[a] + n, &items[b], &items[b] + n);
  });
  return starts;
}

/// Which words of the reference sentence are in its longest common subsequence with a candidate; of several longest,
/// the one that going back from the end finds, upwards unless left is longer.
void mark_common(std::span<const std::uint32_t> reference, std::span<const std::uint32_t> candidate,
                 std::vector<bool>& marked) {
  const std::size_t columns = candidate.size() + 1;
  std::vector<std::uint32_t> table((reference.size() + 1) * columns, 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return table[i * columns + j]; };
  for (std::size_t i = 1; i <= reference.size(); ++i) {
    for (std::size_t j = 1; j <= candidate.size(); ++j) {
      at(i, j) = reference[i - 1] == candidate[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
    }
  }
  for (std::size_t i = reference.size(), j = candidate.size(); i > 0 && j > 0;) {
    if (reference[i - 1] == candidate[j - 1]) {
      marked[i - 1] = true;
      --i;
      --j;
    } else if (at(i, j - 1) > at(i - 1, j)) {
      --j;
    } else {
      --i;
    }
  }
}

using Sentences = std::vector<std::vector<std::uint32_t>>;

PrecisionRecall by_sentences(const Sentences& reference, const Sentences& prediction) {
  std::map<std::uint32_t, std::int64_t> left_in_reference, left_in_prediction;
  std::size_t reference_words = 0, prediction_words = 0, hits = 0;
  for (const auto& sentence : reference) {
    reference_words += sentence.size();
    for (const auto word : sentence) ++left_in_reference[word];
  }
  for (const auto& sentence : prediction) {
    prediction_words += sentence.size();
    for (const auto word : sentence) ++left_in_prediction[word];
  }
  if (reference_words == 0 || prediction_words == 0) return {};
  for (const auto& sentence : reference) {
    std::vector<bool> in_union(sentence.size(), false);
    for (const auto& candidate : prediction) mark_common(sentence, candidate, in_union);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      if (!in_union[i]) continue;
      auto& ours = left_in_prediction[sentence[i]];
      auto& theirs = left_in_reference[sentence[i]];
      if (ours <= 0 || theirs <= 0) continue;
      ++hits;
      --ours;
      --theirs;
    }
  }
  return precision_recall(share(hits, prediction_words), share(hits, reference_words));
}

}  // namespace

PrecisionRecall precision_recall(double precision, double recall) {
  return {precision, recall, precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0};
}

std::size_t common_subsequence(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::vector<std::uint32_t> row(b.size() + 1, 0);
  for (const auto item : a) {
    std::uint32_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::uint32_t above = row[j];
      row[j] = item == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

Rouge::Items Rouge::items(std::string_view text) {
  Items result;
  each_rouge_word(text, [&](const std::string& word) {
    const auto number = words_.number_of(word);
    if (!options_.stem) {
      result.push_back(number);
      return;
    }
    if (stem_of_word_.size() <= number) stem_of_word_.resize(number + 1, 0);
    auto& stem = stem_of_word_[number];
    if (stem == 0) stem = stems_.number_of(word.size() < kShortestStemmed ? word : porter_stem(word));
    result.push_back(stem);
  });
  return result;
}

std::vector<std::string> Rouge::words(std::string_view text) const {
  std::vector<std::string> result;
  each_rouge_word(text, [&](const std::string& word) {
    result.push_back(options_.stem && word.size() >= kShortestStemmed ? porter_stem(word) : word);
  });
  return result;
}

std::vector<Rouge::Items> Rouge::sentences(std::string_view text) {
  std::vector<Items> result;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.empty()) result.push_back(items(line));
  }
  return result;
}

PrecisionRecall Rouge::by_ngrams(const Items& reference, const Items& prediction) const {
  const std::size_t n = options_.n;
  const auto ours = sorted_starts(prediction, n), theirs = sorted_starts(reference, n);
  std::size_t matches = 0;
  for (std::size_t i = 0, j = 0; i < ours.size() && j < theirs.size();) {
    const auto* a = &prediction[ours[i]];
    const auto* b = &reference[theirs[j]];
    const auto order = std::lexicographical_compare_three_way(a, a + n, b, b + n);
    matches += order == 0;
    i += order <= 0;
    j += order >= 0;
  }
  return precision_recall(share(matches, ours.size()), share(matches, theirs.size()));
}

PrecisionRecall Rouge::score(std::string_view reference, std::string_view prediction) {
  if (options_.kind == RougeKind::lsum) return by_sentences(sentences(reference), sentences(prediction));
  const Items theirs = items(reference), ours = items(prediction);
  if (options_.kind == RougeKind::n) return by_ngrams(theirs, ours);
  if (theirs.empty() || ours.empty()) return {};
  const std::size_t common = common_subsequence(theirs, ours);
  return precision_recall(share(common, ours.size()), share(common, theirs.size()));
}

PrecisionRecall Rouge::best_score(std::span<const std::string> references, std::string_view prediction) {
  PrecisionRecall best;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const PrecisionRecall next = score(references[i], prediction);
    if (i == 0 || next.f > best.f) best = next;
  }
  return best;
}

}  // namespace warpmark::accuracy
