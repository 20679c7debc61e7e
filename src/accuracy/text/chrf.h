// chrF (Popovic, WMT 2015) and chrF++ (WMT 2017) as sacreBLEU 2.6.0: F scores of character n-grams up to six without
// white space, for ++ of words up to two as well, with precision and recall averaged over the orders that both texts
// have. Of several references the one with the best F. 0 to 100.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "accuracy/text/ngrams.h"

namespace warpmark::accuracy {

struct ChrfOptions {
  unsigned characters = 6;  ///< longest n-gram, 1 to 6
  unsigned words = 0;       ///< 2 for chrF++, at most 4
  double beta = 2;          ///< weight of recall
  bool lowercase = false;
  bool whitespace = false;  ///< count it as characters
  bool eps_smoothing = false;
};

inline constexpr std::size_t kChrfOrders = 10;

/// Of each order, characters first: n-grams of the hypothesis, of the reference, and matches. Adds up over sentences.
struct ChrfStatistics {
  std::array<std::array<std::int64_t, 3>, kChrfOrders> orders{};
};

class ChrfCounter {
 public:
  explicit ChrfCounter(const ChrfOptions& options) : options_(options) {}
  [[nodiscard]] ChrfStatistics count(std::string_view hypothesis, std::span<const std::string> references);

 private:
  struct Counted {
    Ngrams characters;
    Ngrams words;
  };
  [[nodiscard]] Counted counted(std::string_view line);
  ChrfOptions options_;
  Vocabulary vocabulary_;
};

[[nodiscard]] double chrf_of(const ChrfStatistics& sums, const ChrfOptions& options);

/// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"
[[nodiscard]] std::string chrf_signature(const ChrfOptions& options, std::size_t references);

}  // namespace warpmark::accuracy
