// Real programs under the hook, in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "support/python_with_torch.h"
#include "workers/hooked_program.h"

namespace warpmark::workers {

class Hooked : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark hook XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_TRUE(write_hook(folder_ / "hook").ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& text) {
    const auto path = folder_ / "program.py";
    EXPECT_TRUE(write_file(path, text).ok());
    return path.string();
  }

  HookedRun run_words(const std::vector<std::string>& words, const HookPlan& plan, NamedValues variables = {},
                      double deadline_s = 200) {
    variables.emplace_back("PYTHONDONTWRITEBYTECODE", "1");
    auto result = run_hooked({.words = words,
                              .environment = std::move(variables),
                              .directory = folder_.string(),
                              .deadline_s = deadline_s,
                              .plan = plan},
                             folder_ / "hook", folder_ / "scratch");
    EXPECT_TRUE(result.ok()) << result.error().what;
    return result.ok() ? std::move(*result) : HookedRun{};
  }

  static const ProgramReport& main_of(const HookedRun& run) {
    static const ProgramReport nothing;
    const auto main = main_processes(run.reports);
    return main.empty() ? nothing : *main.front();
  }

  std::filesystem::path folder_;
};

/// Programs given as text, on one processor.
class HookedText : public Hooked {
 protected:
  HookedRun run(std::vector<std::string> words, const std::string& program, const HookPlan& plan,
                const NamedValues& variables = {}) {
    words.push_back(script(program));
    auto environment = variables;
    environment.emplace_back("OMP_NUM_THREADS", "1");
    return run_words(words, plan, environment, 300);
  }
  static std::vector<KnobState> knobs(const HookedRun& run) { return main_of(run).knobs; }
};

}  // namespace warpmark::workers
