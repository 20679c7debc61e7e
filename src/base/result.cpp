#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace warpmark {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "warpmark: internal error: %s is false (%s:%d). Please report this.\n", condition, file, line);
  std::abort();
}

}  // namespace warpmark
