#include "accuracy/text/porter.h"

#include <algorithm>
#include <span>
#include <utility>

namespace warpmark::accuracy {
namespace {

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
