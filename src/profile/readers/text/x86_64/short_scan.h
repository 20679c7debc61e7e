// What is looked for in JSON text most often, found within a few characters: in place, by SSE2, which every x86-64
// processor has. The text is followed by kScanPadding bytes (json_scan.h).
#pragma once

#include <emmintrin.h>

#include <bit>

#include "profile/readers/text/json_scan.h"

namespace warpmark::profile {

/// find_special with the short texts, which are most, done in place.
[[nodiscard]] inline const char* find_special(const char* p, const char* end, const ScanFunctions& functions) {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F);
  for (int i = 0; i < 2; ++i) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash)),
                                      _mm_cmpeq_epi8(_mm_min_epu8(text, control), text));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hits));
    if (mask != 0) return p + std::countr_zero(mask);
    p += 16;
    if (p >= end) return end;
  }
  return functions.find_special(p, end);
}

/// The first character above ' ' from `p` on.
[[nodiscard]] inline const char* skip_space(const char* p) {
  if (static_cast<unsigned char>(*p) > ' ') return p;
  ++p;
  if (static_cast<unsigned char>(*p) > ' ') return p;
  const __m128i first_visible = _mm_set1_epi8(' ' + 1);
  for (;; p += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i visible = _mm_cmpeq_epi8(_mm_max_epu8(text, first_visible), text);
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(visible));
    if (mask != 0) return p + std::countr_zero(mask);
  }
}

}  // namespace warpmark::profile
