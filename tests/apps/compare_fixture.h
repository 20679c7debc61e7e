// `warpmark compare`, and a project that it compares.
#pragma once

#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"

namespace warpmark::apps {

class Compare : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // On a busy machine each meeting of threads takes as long as the scheduler likes, thousands of times a run.
    setenv("OMP_NUM_THREADS", "1", 1);
  }
  void TearDown() override {
    unsetenv("OMP_NUM_THREADS");
    Cli::TearDown();
  }

  ProcessOutput compare(std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return warpmark(std::move(words));
  }
  /// A project whose metric is what `value` prints.
  void write_project(const std::string& run, const std::string& extra = "") {
    ASSERT_TRUE(write_file(path("warpmark.yaml"), "run: " + run + "\nshell: true\n" + extra +
                                                      "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                    .ok());
  }
};

}  // namespace warpmark::apps
