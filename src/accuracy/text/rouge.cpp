#include "accuracy/text/rouge.h"

#include <algorithm>
#include <map>
#include <utility>

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

bool is_consonant(std::string_view word, std::size_t i) {
  const char c = word[i];
  if (c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u') return false;
  return c != 'y' || i == 0 || !is_consonant(word, i - 1);
}

/// Porter's m: how often a vowel is followed by a consonant.
int measure(std::string_view stem) {
  int count = 0;
  bool vowel_before = false;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    const bool consonant = is_consonant(stem, i);
    if (consonant && vowel_before) ++count;
    vowel_before = !consonant;
  }
  return count;
}

bool contains_vowel(std::string_view stem) {
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (!is_consonant(stem, i)) return true;
  }
  return false;
}

bool ends_in_double_consonant(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

/// Porter's *o: consonant, vowel, consonant other than w, x, y; NLTK takes vowel, consonant as a whole word as well.
bool ends_in_cvc(std::string_view word) {
  const std::size_t n = word.size();
  if (n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1)) {
    const char last = word[n - 1];
    if (last != 'w' && last != 'x' && last != 'y') return true;
  }
  return n == 2 && !is_consonant(word, 0) && is_consonant(word, 1);
}

std::size_t letters_of(std::string_view word) {
  return static_cast<std::size_t>(
      std::count_if(word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string with_suffix(std::string_view word, std::size_t removed, std::string_view added) {
  return std::string(word.substr(0, word.size() - removed)) + std::string(added);
}

struct SuffixRule {
  std::string_view suffix;
  std::string_view replacement;
};

/// The first rule whose suffix the word has decides, also if its condition does not hold.
template <typename Condition>
std::string by_rules(std::string_view word, std::span<const SuffixRule> rules, Condition condition) {
  for (const auto& [suffix, replacement] : rules) {
    if (!word.ends_with(suffix)) continue;
    if (!condition(word.substr(0, word.size() - suffix.size()), suffix)) break;
    return with_suffix(word, suffix.size(), replacement);
  }
  return std::string(word);
}

std::string plural_removed(std::string_view word) {
  if (word.ends_with("ies")) return with_suffix(word, 3, letters_of(word) == 4 ? "ie" : "i");
  if (word.ends_with("sses")) return with_suffix(word, 2, "");
  if (word.ends_with("ss") || !word.ends_with("s")) return std::string(word);
  return with_suffix(word, 1, "");
}

std::string past_removed(std::string_view word) {
  if (word.ends_with("ied")) return with_suffix(word, 3, letters_of(word) == 4 ? "ie" : "i");
  if (word.ends_with("eed")) {
    return measure(word.substr(0, word.size() - 3)) > 0 ? with_suffix(word, 1, "") : std::string(word);
  }
  std::string_view stem;
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (!word.ends_with(suffix)) continue;
    const auto candidate = word.substr(0, word.size() - suffix.size());
    if (!contains_vowel(candidate)) continue;
    stem = candidate;
    break;
  }
  if (stem.empty()) return std::string(word);
  if (stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz")) return with_suffix(stem, 0, "e");
  if (ends_in_double_consonant(stem)) {
    const char last = stem.back();
    return last == 'l' || last == 's' || last == 'z' ? std::string(stem) : with_suffix(stem, 1, "");
  }
  return with_suffix(stem, 0, measure(stem) == 1 && ends_in_cvc(stem) ? "e" : "");
}

std::string y_changed(std::string_view word) {
  if (!word.ends_with("y")) return std::string(word);
  const auto stem = word.substr(0, word.size() - 1);
  const bool changes = letters_of(stem) > 1 && is_consonant(stem, stem.size() - 1);
  return changes ? with_suffix(stem, 0, "i") : std::string(word);
}

std::string double_suffix_shortened(std::string_view word) {
  if (word.ends_with("alli") && measure(word.substr(0, word.size() - 4)) > 0) {
    return double_suffix_shortened(with_suffix(word, 4, "al"));
  }
  static constexpr SuffixRule kRules[] = {
      {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
      {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
      {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
      {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
      {"fulli", "ful"},   {"logi", "log"}};
  return by_rules(word, kRules, [&](std::string_view stem, std::string_view suffix) {
    // The l of -logi counts as a part of the stem, so that geo- and theo- work like archaeo-.
    return measure(suffix == "logi" ? word.substr(0, word.size() - 3) : stem) > 0;
  });
}

std::string quality_removed(std::string_view word) {
  static constexpr SuffixRule kRules[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                                          {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
  return by_rules(word, kRules, [](std::string_view stem, std::string_view) { return measure(stem) > 0; });
}

std::string last_suffix_removed(std::string_view word) {
  static constexpr SuffixRule kRules[] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                                          {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                                          {"ent", ""},  {"ion", ""},  {"ou", ""},   {"ism", ""},   {"ate", ""},
                                          {"iti", ""},  {"ous", ""},  {"ive", ""},  {"ize", ""}};
  return by_rules(word, kRules, [](std::string_view stem, std::string_view suffix) {
    return measure(stem) > 1 && (suffix != "ion" || stem.back() == 's' || stem.back() == 't');
  });
}

std::string tidied(std::string_view word) {
  std::string result(word);
  if (word.ends_with("e")) {
    const auto stem = word.substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_in_cvc(stem))) result = stem;
  }
  if (result.ends_with("ll") && measure(std::string_view(result).substr(0, result.size() - 1)) > 1) result.pop_back();
  return result;
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

std::string porter_stem(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
      {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
      {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
      {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
      {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};
  for (const auto& [form, stem] : kIrregular) {
    if (word == form) return std::string(stem);
  }
  if (letters_of(word) <= 2) return std::string(word);
  std::string stem = y_changed(past_removed(plural_removed(word)));
  return tidied(last_suffix_removed(quality_removed(double_suffix_shortened(stem))));
}

}  // namespace warpmark::accuracy
