// Translation edit rate (Snover et al., AMTA 2006) as sacreBLEU 2.6.0: insertions, deletions, substitutions and shifts
// of words, shifts found greedily as Tercom does, edit distances within a beam of 25 around the diagonal. In percent of
// the mean reference length; of several references the fewest edits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "accuracy/text/ngrams.h"
#include "accuracy/text/tokenizers.h"

namespace warpmark::accuracy {

struct TerStatistics {
  double edits = 0;
  double reference_length = 0;  ///< mean over the references
};

class TerCounter {
 public:
  explicit TerCounter(const TercomOptions& options) : options_(options) {}
  [[nodiscard]] TerStatistics count(std::string_view hypothesis, std::span<const std::string> references);

 private:
  [[nodiscard]] std::vector<std::uint32_t> words(std::string_view line);
  TercomOptions options_;
  Vocabulary vocabulary_;
};

/// In percent, can exceed 100.
[[nodiscard]] double ter_of(const TerStatistics& sums);

/// "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0"
[[nodiscard]] std::string ter_signature(const TercomOptions& options, std::size_t references);

/// Fewest edits that make the hypothesis the reference, shifts counted as one.
[[nodiscard]] std::int64_t translation_edits(std::span<const std::uint32_t> hypothesis,
                                             std::span<const std::uint32_t> reference);

}  // namespace warpmark::accuracy
