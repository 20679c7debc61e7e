// `warpmark optimize` on programs in Python, with and without torch.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "support/python_with_torch.h"

namespace warpmark::apps {

using testing_support::python_with_torch;

/// Fewer rounds than users would want, for a difference that is several times the noise.
inline const std::vector<std::string> kQuick{"--alpha", "0.5",      "--rounds", "6",         "--effect",
                                             "10%",     "--window", "1s",       "--no-store"};

class Optimize : public Cli {
 protected:
  ProcessOutput optimize(const std::vector<std::string>& more, const std::vector<std::string>& program) {
    std::vector<std::string> words{kExecutable, "optimize"};
    words.insert(words.end(), kQuick.begin(), kQuick.end());
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("--");
    words.insert(words.end(), program.begin(), program.end());
    const auto output = run_process(
        words, {.deadline_s = 700, .directory = folder_.string(), .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}}});
    EXPECT_TRUE(output.ok()) << output.error().what;
    return output.ok() ? *output : ProcessOutput{};
  }
  static std::vector<std::string> training(const std::vector<std::string>& more) {
    std::vector<std::string> words{python_with_torch(),
                                   std::string(WARPMARK_SOURCE_DIR) + "/examples/optimize/train.py"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// A program without torch: it sleeps as long as it is told, or worse.
  std::vector<std::string> sleeper() {
    write("sleeper.py",
          "import sys, time\n"
          "value = sys.argv[2]\n"
          "if value == 'crash': sys.exit('no such mode')\n"
          "if value == 'memory': sys.exit('torch.OutOfMemoryError: CUDA out of memory')\n"
          "time.sleep(1000 if value == 'hang' else float(value))\n");
    return {"python3", path("sleeper.py"), "--sleep", "1"};
  }
};

}  // namespace warpmark::apps
