#include "accuracy/text/answers.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "accuracy/text/ngrams.h"
#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

/// Whole words, by \b: an article beside a letter, a numeral or an underscore is part of a word.
std::string without_articles(std::string_view utf8) {
  const std::u32string text = code_points(utf8);
  std::u32string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    const auto word = std::u32string_view(text).substr(i, end - i);
    if (word == U"a" || word == U"an" || word == U"the") {
      result += U' ';
    } else {
      result += word;
    }
    i = end;
  }
  return to_utf8(result);
}

template <typename Item>
std::int64_t levenshtein(std::span<const Item> a, std::span<const Item> b) {
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const Item& item : a) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (item == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

template <typename Items>
EditCounts lowest_rate(std::span<const std::string> references, std::string_view hypothesis, Items items_of) {
  const auto ours = items_of(hypothesis);
  EditCounts best;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < references.size(); ++i) {
    const auto theirs = items_of(references[i]);
    using Item = typename decltype(theirs)::value_type;
    const EditCounts counts{levenshtein<Item>(std::span<const Item>(ours.data(), ours.size()),
                                              std::span<const Item>(theirs.data(), theirs.size())),
                            static_cast<std::int64_t>(theirs.size())};
    const double rate = static_cast<double>(counts.edits) / std::max<double>(1, static_cast<double>(theirs.size()));
    if (i == 0 || rate < lowest) {
      lowest = rate;
      best = counts;
    }
  }
  return best;
}

}  // namespace

std::string squad_normalized(std::string_view answer) {
  std::string text = lower_case(answer);
  std::erase_if(text, [](char c) { return is_ascii_punctuation(static_cast<unsigned char>(c)); });
  return single_spaced(without_articles(text));
}

AnswerScore squad_pair(std::string_view gold, std::string_view answer) {
  const std::string right = squad_normalized(gold), ours = squad_normalized(answer);
  AnswerScore score{.exact = right == ours ? 1.0 : 0.0};
  auto right_words = words_of(right), our_words = words_of(ours);
  if (right_words.empty() || our_words.empty()) {
    score.f1 = right_words.empty() == our_words.empty() ? 1 : 0;
    return score;
  }
  std::sort(right_words.begin(), right_words.end());
  std::sort(our_words.begin(), our_words.end());
  std::vector<std::string_view> common;
  std::set_intersection(right_words.begin(), right_words.end(), our_words.begin(), our_words.end(),
                        std::back_inserter(common));
  if (common.empty()) return score;
  const auto shared = static_cast<double>(common.size());
  const double precision = shared / static_cast<double>(our_words.size());
  const double recall = shared / static_cast<double>(right_words.size());
  score.f1 = 2 * precision * recall / (precision + recall);
  return score;
}

AnswerScore squad_score(std::span<const std::string> gold, std::string_view answer) {
  AnswerScore best;
  bool any = false;
  for (const auto& right : gold) {
    if (squad_normalized(right).empty()) continue;
    const AnswerScore next = squad_pair(right, answer);
    best.exact = std::max(best.exact, next.exact);
    best.f1 = std::max(best.f1, next.f1);
    any = true;
  }
  return any ? best : squad_pair("", answer);
}

EditCounts word_edits(std::span<const std::string> references, std::string_view hypothesis) {
  Vocabulary vocabulary;
  return lowest_rate(references, hypothesis, [&](std::string_view text) {
    std::vector<std::uint32_t> items;
    for (const auto word : words_of(text)) items.push_back(vocabulary.number_of(word));
    return items;
  });
}

EditCounts character_edits(std::span<const std::string> references, std::string_view hypothesis) {
  return lowest_rate(references, hypothesis, [](std::string_view text) { return code_points(text); });
}

}  // namespace warpmark::accuracy
