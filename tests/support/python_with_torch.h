// The Python of this machine that has PyTorch (Debian's python3-torch), for tests that run real programs.
#pragma once

#include <string>

#include "base/subprocess.h"

namespace warpmark::testing_support {

/// Empty if there is none; a test says so and is skipped. Looked for and not imported, which would take as long as most
/// of these tests.
inline const std::string& python_with_torch() {
  static const std::string found = [] {
    for (const char* candidate : {"python3", "/usr/bin/python3"}) {
      const auto tried = run_process(
          {candidate, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"},
          {.deadline_s = 120});
      if (tried.ok() && tried->exit_code == 0) return std::string(candidate);
    }
    return std::string();
  }();
  return found;
}

}  // namespace warpmark::testing_support

#define WM_NEEDS_TORCH()                                      \
  if (warpmark::testing_support::python_with_torch().empty()) \
  GTEST_SKIP() << "no python3 here imports torch (apt-get install python3-torch)"
