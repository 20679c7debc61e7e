// The Python of this machine that has PyTorch (Debian's python3-torch), for tests that run real programs.
#pragma once

#include <string>

#include "base/subprocess.h"

namespace warpmark::testing_support {

/// Empty if there is none of 1.13 or newer (Ubuntu 22.04 has 1.8); a test says so and is skipped. Looked for and not
/// imported, which would take as long as most of these tests.
inline const std::string& python_with_torch() {
  constexpr const char* kPoll =
      "import importlib.util, os, runpy, sys\n"
      "found = importlib.util.find_spec('torch')\n"
      "if found is None: sys.exit(1)\n"
      "version = runpy.run_path(os.path.join(os.path.dirname(found.origin), 'version.py'))['__version__']\n"
      "sys.exit([int(n) for n in version.split('.')[:2]] < [1, 13])\n";
  static const std::string found = [] {
    for (const char* candidate : {"python3", "/usr/bin/python3"}) {
      const auto tried = run_process({candidate, "-c", kPoll}, {.deadline_s = 120});
      if (tried.ok() && tried->exit_code == 0) return std::string(candidate);
    }
    return std::string();
  }();
  return found;
}

}  // namespace warpmark::testing_support

#define WM_NEEDS_TORCH()                                      \
  if (warpmark::testing_support::python_with_torch().empty()) \
  GTEST_SKIP() << "no python3 here has torch 1.13 or newer (Debian: python3-torch)"
