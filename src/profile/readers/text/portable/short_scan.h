// What is looked for in JSON text most often, found within a few characters: in place, one at a time.
#pragma once

#include "profile/readers/text/json_scan.h"

namespace warpmark::profile {

/// The first '"', '\\' or control character from `p` on; `end` or beyond if there is none.
[[nodiscard]] inline const char* find_special(const char* p, const char* end, const ScanFunctions& functions) {
  return functions.find_special(p, end);
}

/// The first character above ' ' from `p` on.
[[nodiscard]] inline const char* skip_space(const char* p) {
  while (static_cast<unsigned char>(*p) <= ' ') ++p;
  return p;
}

}  // namespace warpmark::profile
