// Whether a text for a terminal of some width can be read: its lines fit, and none of its words is broken.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "base/text.h"
#include "support/golden.h"

namespace warpmark::testing_support {

/// A word that can be nothing else but one: a path, a name or a quoted part of a command.
inline bool is_one_word(std::string line) {
  if (line.ends_with(" \\")) line.resize(line.size() - 2);
  char quote = 0;
  for (const char c : trim(line)) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    }
    if (c == ' ' && quote == 0) return false;
  }
  return true;
}

/// Words with a letter or a digit, without signs at their end.
inline std::set<std::string> words_in(const std::string& text) {
  std::set<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    word.erase(word.find_last_not_of(".,:;") + 1);
    if (std::ranges::any_of(word, [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; })) words.insert(word);
  }
  return words;
}

inline void expect_fits(const std::string& text, std::size_t width) {
  for (const auto& line : split(text, '\n')) {
    EXPECT_TRUE(display_width(line) <= width || is_one_word(line)) << "wider than " << width << ": " << line;
  }
}

/// `wide` is the same text where nothing has to be narrow.
inline void expect_readable(const std::string& text, const std::string& wide, std::size_t width) {
  expect_fits(text, width);
  std::set<std::string> known = words_in(wide);
  known.merge(words_in("Not shown at this width"));
  for (const auto& word : words_in(text)) EXPECT_TRUE(known.contains(word)) << "broken at " << width << ": " << word;
}

/// Golden files apps/golden/NAME_80.txt, _120.txt and _pipe.txt; at 60 columns the text is readable. `text_at(columns)`
/// is what is printed; of 0 columns, into a pipe.
inline void expect_golden_widths(const std::string& name, const std::function<std::string(int)>& text_at) {
  const std::string wide = text_at(0);
  expect_golden("apps/golden/" + name + "_pipe.txt", wide);
  for (const int columns : {60, 80, 120}) {
    const std::string text = text_at(columns);
    expect_readable(text, wide, static_cast<std::size_t>(columns));
    if (columns > 60) expect_golden("apps/golden/" + name + "_" + std::to_string(columns) + ".txt", text);
  }
}

}  // namespace warpmark::testing_support
