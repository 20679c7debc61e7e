#include "profile/readers/text/json_scan.h"

#include "profile/readers/text/json_text.h"

namespace warpmark::profile {
namespace {

const char* find_special_scalar(const char* p, const char* end) {
  while (p < end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) ++p;
  return p;
}

const char* skip_nested_scalar(const char* p, const char* end, const char** stop) {
  Nesting nesting;
  bool done = false, broken = false;
  p = step(p, end, nesting, done, broken);
  if (done) return p;
  *stop = broken ? p : end;
  return nullptr;
}

constexpr ScanFunctions kScalar{"scalar", find_special_scalar, skip_nested_scalar};

}  // namespace

const ScanFunctions& scalar_scan_functions() { return kScalar; }

}  // namespace warpmark::profile
