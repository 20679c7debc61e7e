// The few questions about JSON text that cost most of the time of reading a trace, answered 16 to 64 bytes at a time.
//
// Text that is scanned must be followed by kScanPadding bytes of kScanSentinel, a character that is neither space nor
// part of JSON: so loops need no test for the end, and what stops at the end is an unfinished text.
#pragma once

#include <cstddef>

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

}  // namespace warpmark::profile
