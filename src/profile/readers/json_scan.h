// The few questions about JSON text that cost most of the time of reading a trace, answered 16 to 64 bytes at a time.
//
// Text that is scanned must be followed by kScanPadding bytes of kScanSentinel, a character that is neither space nor
// part of JSON: so loops need no test for the end, and what stops at the end is an unfinished text.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace warpmark::profile {

inline constexpr std::size_t kScanPadding = 64;
inline constexpr char kScanSentinel = 0x7F;

/// Chosen once for the processor that runs.
struct ScanFunctions {
  const char* name;  ///< "avx2" or "scalar"
  /// The first '"', '\\' or control character from `p` on; `end` or beyond if there is none.
  const char* (*find_special)(const char* p, const char* end);
  /// From behind a '[' or '{' to behind the bracket that closes it. nullptr if that is missing: *stop is then `end`, or
  /// the line break within a string that shows that a quote is missing or too many.
  const char* (*skip_nested)(const char* p, const char* end, const char** stop);
};
[[nodiscard]] const ScanFunctions& scan_functions();
/// For tests: the one that runs everywhere.
[[nodiscard]] const ScanFunctions& scalar_scan_functions();

/// find_special with the short texts, which are most, done in place. SSE2 is part of x86-64.
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
