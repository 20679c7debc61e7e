// WM_CHECK states what our own code guarantees. A false one is a bug here, never the user's fault: it stops the
// program with the place and the condition.
#pragma once

namespace warpmark {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define WM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::warpmark::check_failed(#condition, __FILE__, __LINE__))
