// The AVX2 forms look at 64 bytes at once. Which of them are inside strings follows from a carry-less multiplication of
// the mask of quotes by all ones (a prefix xor), as in Langdale and Lemire, "Parsing Gigabytes of JSON per Second"
// (VLDB Journal 28, 2019). Backslashes are rare in traces: text around them is read character by character.
#include <immintrin.h>

#include "profile/readers/text/json_scan.h"
#include "profile/readers/text/json_text.h"

namespace warpmark::profile {
namespace {

#define WM_AVX2 __attribute__((target("avx2,pclmul,bmi,lzcnt,popcnt")))

WM_AVX2 const char* find_special_avx2(const char* p, const char* end) {
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  const __m256i control = _mm256_set1_epi8(0x1F);
  for (; p < end; p += 32) {
    const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i hits =
        _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(text, quote), _mm256_cmpeq_epi8(text, backslash)),
                        _mm256_cmpeq_epi8(_mm256_min_epu8(text, control), text));
    const auto mask = static_cast<unsigned>(_mm256_movemask_epi8(hits));
    if (mask != 0) return p + _tzcnt_u32(mask);
  }
  return end;
}

WM_AVX2 inline std::uint64_t equal_mask(__m256i low, __m256i high, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto a = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto b = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return a | static_cast<std::uint64_t>(b) << 32;
}

/// Bit i is the xor of the bits up to i.
WM_AVX2 inline std::uint64_t prefix_xor(std::uint64_t bits) {
  const __m128i all_ones = _mm_set1_epi8(-1);
  const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), all_ones, 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

/// Follows the brackets of one block. True if the depth falls to 0, at bit `at`.
WM_AVX2 inline bool follow_brackets(std::uint64_t opening, std::uint64_t closing, int& depth, unsigned& at) {
  if (static_cast<int>(_mm_popcnt_u64(closing)) < depth) {
    depth += static_cast<int>(_mm_popcnt_u64(opening)) - static_cast<int>(_mm_popcnt_u64(closing));
    return false;
  }
  for (std::uint64_t both = opening | closing; both != 0; both &= both - 1) {
    at = static_cast<unsigned>(_tzcnt_u64(both));
    depth += (opening >> at & 1) != 0 ? 1 : -1;
    if (depth == 0) return true;
  }
  return false;
}

WM_AVX2 const char* skip_nested_avx2(const char* p, const char* end, const char** stop) {
  Nesting nesting;
  const __m256i letter_case = _mm256_set1_epi8(0x20);  // makes '[' a '{' and ']' a '}'
  while (p < end) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
    if (equal_mask(low, high, '\\') != 0) {
      bool done = false, broken = false;
      p = step(p, p + 64 < end ? p + 64 : end, nesting, done, broken);
      if (done) return p;
      if (!broken) continue;
      *stop = p;
      return nullptr;
    }
    const std::uint64_t in_string =
        prefix_xor(equal_mask(low, high, '"')) ^ (nesting.in_string ? ~std::uint64_t{0} : std::uint64_t{0});
    const __m256i low_folded = _mm256_or_si256(low, letter_case);
    const __m256i high_folded = _mm256_or_si256(high, letter_case);
    const std::uint64_t opening = equal_mask(low_folded, high_folded, '{') & ~in_string;
    const std::uint64_t closing = equal_mask(low_folded, high_folded, '}') & ~in_string;
    const std::uint64_t broken_lines = equal_mask(low, high, '\n') & in_string;
    unsigned at = 64;
    const bool closed = follow_brackets(opening, closing, nesting.depth, at);
    if (broken_lines != 0 && (!closed || _tzcnt_u64(broken_lines) < at)) {
      *stop = p + _tzcnt_u64(broken_lines);
      return nullptr;
    }
    if (closed) return p + at + 1;
    nesting.in_string = (in_string >> 63) != 0;
    p += 64;
  }
  *stop = end;
  return nullptr;
}

constexpr ScanFunctions kAvx2{"avx2", find_special_avx2, skip_nested_avx2};

}  // namespace

const ScanFunctions& scan_functions() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
                               __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("popcnt") != 0;
  return has_avx2 ? kAvx2 : scalar_scan_functions();
}

}  // namespace warpmark::profile
