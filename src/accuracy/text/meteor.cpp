#include "accuracy/text/meteor.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "accuracy/text/porter.h"
#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

struct PlacedWord {
  std::size_t place = 0;
  std::string word;
};

using PlacedWords = std::vector<PlacedWord>;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

PlacedWords placed_words(std::string_view text) {
  const std::string lower = lower_case(text);
  PlacedWords result;
  for (const auto word : words_of(lower)) result.push_back({result.size(), std::string(word)});
  return result;
}

/// From the last word to the first, each with the last one that it matches; what is matched leaves both lists.
template <typename Accept>
void match_words(PlacedWords& hypothesis, PlacedWords& reference, Matches& matches, Accept accept) {
  for (std::size_t i = hypothesis.size(); i-- > 0;) {
    const auto accepts = accept(hypothesis[i].word);
    for (std::size_t j = reference.size(); j-- > 0;) {
      if (!accepts(reference[j].word)) continue;
      matches.emplace_back(hypothesis[i].place, reference[j].place);
      hypothesis.erase(hypothesis.begin() + static_cast<std::ptrdiff_t>(i));
      reference.erase(reference.begin() + static_cast<std::ptrdiff_t>(j));
      break;
    }
  }
}

auto equal_word(const std::string& ours) {
  return [ours](const std::string& theirs) { return ours == theirs; };
}

double meteor_of(std::string_view reference_text, std::string_view hypothesis_text, const MeteorOptions& options) {
  PlacedWords hypothesis = placed_words(hypothesis_text), reference = placed_words(reference_text);
  const auto ours = static_cast<double>(hypothesis.size()), theirs = static_cast<double>(reference.size());
  Matches matches;
  match_words(hypothesis, reference, matches, equal_word);
  for (auto* words : {&hypothesis, &reference}) {
    for (auto& item : *words) item.word = porter_stem(item.word);
  }
  match_words(hypothesis, reference, matches, equal_word);
  if (options.wordnet != nullptr) {
    match_words(hypothesis, reference, matches, [&](const std::string& word) {
      std::set<std::string> synonyms = options.wordnet->synonyms(word);
      synonyms.insert(word);
      return [synonyms = std::move(synonyms)](const std::string& other) { return synonyms.contains(other); };
    });
  }
  if (matches.empty()) return 0;
  std::sort(matches.begin(), matches.end());
  double chunks = 1;
  for (std::size_t i = 0; i + 1 < matches.size(); ++i) {
    const bool continues =
        matches[i + 1].first == matches[i].first + 1 && matches[i + 1].second == matches[i].second + 1;
    chunks += continues ? 0 : 1;
  }
  const auto count = static_cast<double>(matches.size());
  const double precision = count / ours, recall = count / theirs;
  const double mean = precision * recall / (options.alpha * precision + (1 - options.alpha) * recall);
  return (1 - options.gamma * std::pow(chunks / count, options.beta)) * mean;
}

}  // namespace

double meteor(std::span<const std::string> references, std::string_view hypothesis, const MeteorOptions& options) {
  double best = 0;
  for (const auto& reference : references) best = std::max(best, meteor_of(reference, hypothesis, options));
  return best;
}

}  // namespace warpmark::accuracy
