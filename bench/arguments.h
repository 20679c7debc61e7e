// Command lines of the programs in bench/: words in a fixed order, --help, and nothing that begins with a dash.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace warpmark::bench {

/// The exit code of a program that must not run with these arguments: 0 after --help, 2 for an option that there is not
/// or another number of words. `usage` begins with the program's name.
[[nodiscard]] inline std::optional<int> end_with_usage(int count, char** arguments, const char* usage, int fewest,
                                                       int most) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--help" || word == "-h") {
      fmt::print("usage: {}\n", usage);
      return 0;
    }
    if (!word.starts_with('-')) continue;
    fmt::print(stderr, "there is no option {}\nusage: {}\n", word, usage);
    return 2;
  }
  if (count - 1 >= fewest && count - 1 <= most) return std::nullopt;
  fmt::print(stderr, "usage: {}\n", usage);
  return 2;
}

/// The word at `index` as a number above 0, or `otherwise` where there is none. Says what is wrong with anything else.
[[nodiscard]] inline std::optional<std::int64_t> count_at(int index, int count, char** arguments,
                                                          std::int64_t otherwise) {
  if (index >= count) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(arguments[index], &end, 10);
  if (value > 0 && *end == '\0') return value;
  fmt::print(stderr, "'{}' is not a number above 0\n", arguments[index]);
  return std::nullopt;
}

}  // namespace warpmark::bench
