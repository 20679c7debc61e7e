// What people call what warpmark does: words of the field and names of other tools, with the commands that do it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace warpmark::apps {

struct Topic {
  const char* words;     ///< "ttft tpot itl latency", the first is the title
  const char* text;      ///< a sentence or two
  const char* commands;  ///< one a line; each parses as it stands
};

[[nodiscard]] std::span<const Topic> topics();

/// In lower case, with - for _ and spaces, without the dashes of an option: "--KV_cache" is "kv-cache".
[[nodiscard]] std::string folded_word(std::string_view word);

/// By one of its words, folded. nullptr if there is none.
[[nodiscard]] const Topic* find_topic(std::string_view word);

[[nodiscard]] std::string first_command(const Topic& topic);

/// A word that reports and documents use, with what it means here.
struct Term {
  const char* words;  ///< "TTFT, TPOT, ITL"
  const char* meaning;
};

[[nodiscard]] std::span<const Term> glossary();

/// By one of its words in any case, in the singular or plural, with spaces or dashes. nullptr if there is none.
[[nodiscard]] const Term* find_term(std::string_view word);

/// docs/glossary.md.
[[nodiscard]] std::string glossary_page();

}  // namespace warpmark::apps
