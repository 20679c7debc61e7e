// BLEU (Papineni et al., ACL 2002) exactly as sacreBLEU 2.6.0 computes it, of a corpus and of a sentence: clipped
// n-gram precisions over all sentences, the reference length closest to the hypothesis, and its smoothings (Chen,
// Cherry, WMT 2014). Scores are 0 to 100.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "accuracy/text/ngrams.h"
#include "accuracy/text/tokenizers.h"
#include "base/result.h"

namespace warpmark::accuracy {

enum class BleuSmoothing { none, floor, add_k, exp };

struct BleuOptions {
  NamedTokenizer tokenizer;  ///< by bleu_tokenizer
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;  ///< of floor (0.1) and add_k (1)
  unsigned most_words = 4;                ///< longest n-gram, 1 to 4
  bool effective_order = false;           ///< leave out orders that the sentence is too short for
};

inline constexpr unsigned kBleuOrders = 4;

/// What adds up over sentences.
struct BleuStatistics {
  std::int64_t hypothesis_length = 0;
  std::int64_t reference_length = 0;
  std::array<std::int64_t, kBleuOrders> matches{};
  std::array<std::int64_t, kBleuOrders> totals{};
};

struct BleuScore {
  double score = 0;
  std::array<double, kBleuOrders> precisions{};  ///< in percent, smoothed
  double brevity_penalty = 0;
};

class BleuCounter {
 public:
  explicit BleuCounter(const BleuOptions& options) : options_(options) {}
  /// At least one reference.
  [[nodiscard]] BleuStatistics count(std::string_view hypothesis, std::span<const std::string> references);

 private:
  [[nodiscard]] Ngrams ngrams_of(std::string_view line);
  BleuOptions options_;
  Vocabulary vocabulary_;
};

[[nodiscard]] BleuScore bleu_of(const BleuStatistics& sums, const BleuOptions& options);

/// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"; 0 references where their number varies.
[[nodiscard]] std::string bleu_signature(const BleuOptions& options, std::size_t references);

/// none, floor, add-k, exp; usage error for others.
[[nodiscard]] Result<BleuSmoothing> bleu_smoothing(std::string_view name);

/// The version of sacreBLEU whose numbers these are.
inline constexpr const char* kSacrebleuVersion = "2.6.0";

// chrF (Popovic, WMT 2015) and chrF++ (WMT 2017) as sacreBLEU 2.6.0: F scores of character n-grams up to six without
// white space, for ++ of words up to two as well, with precision and recall averaged over the orders that both texts
// have. Of several references the one with the best F. 0 to 100.

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
