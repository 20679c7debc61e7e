// METEOR (Lavie, Agarwal, WMT 2007) as NLTK's meteor_score: words are matched exactly, then by stem, then by synonym
// where a WordNet is given; F of precision and recall with recall weighted nine to one, less a penalty for the number
// of pieces that the matches fall into. 0 to 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "accuracy/text/wordnet.h"

namespace warpmark::accuracy {

struct MeteorOptions {
  double alpha = 0.9;
  double beta = 3;
  double gamma = 0.5;
  const WordNet* wordnet = nullptr;  ///< no synonyms without it
};

/// Of words that are separated by white space (NLTK takes them tokenized); the best of several references.
[[nodiscard]] double meteor(std::span<const std::string> references, std::string_view hypothesis,
                            const MeteorOptions& options);

}  // namespace warpmark::accuracy
