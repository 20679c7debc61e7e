// The stemmer of rouge-score and METEOR: Porter's ("An algorithm for suffix stripping", Program 14, 1980) with the
// changes of NLTK's default mode, which differs from the paper in irregular forms, -ies, -ied, -y, -alli, -fulli and
// -logi.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::accuracy {

/// Of a word in lower case.
[[nodiscard]] std::string porter_stem(std::string_view word);

}  // namespace warpmark::accuracy
