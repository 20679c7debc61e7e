// Commands that set or clear the variables by which the hook is found.
#include "workers/hooked_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpmark::workers {
namespace {

using ::testing::ElementsAre;

const NamedValues kVariables{{"PYTHONPATH", "/hook:/theirs"}, {"WARPMARK_HOOK", "/plan.json"}};

TEST(KeepVariables, leaves_other_commands_alone) {
  const std::vector<std::string> words{"python3", "train.py", "PYTHONPATH=x"};
  EXPECT_EQ(keep_variables(words, "/hook", kVariables), words);
}

TEST(KeepVariables, env_that_sets_the_path_gets_the_hook_in_front) {
  EXPECT_THAT(keep_variables({"env", "PYTHONPATH=src", "python3", "a.py", "PYTHONPATH=x"}, "/hook", kVariables),
              ElementsAre("env", "PYTHONPATH=/hook:src", "python3", "a.py", "PYTHONPATH=x"));
  EXPECT_THAT(keep_variables({"taskset", "-c", "0", "/usr/bin/env", "-u", "A", "PYTHONPATH=src", "python3"}, "/hook",
                             kVariables),
              ElementsAre("taskset", "-c", "0", "/usr/bin/env", "-u", "A", "PYTHONPATH=/hook:src", "python3"));
}

TEST(KeepVariables, env_that_clears_all_gets_them_again) {
  EXPECT_THAT(keep_variables({"env", "-i", "A=b", "python3"}, "/hook", kVariables),
              ElementsAre("env", "-i", "WARPMARK_HOOK=/plan.json", "PYTHONPATH=/hook:/theirs", "A=b", "python3"));
  EXPECT_THAT(keep_variables({"env", "-", "PYTHONPATH=src", "python3"}, "/hook", kVariables),
              ElementsAre("env", "-", "WARPMARK_HOOK=/plan.json", "PYTHONPATH=/hook:src", "python3"));
}

TEST(KeepVariables, a_shell_that_sets_the_path_gets_the_hook_in_front) {
  EXPECT_THAT(
      keep_variables({"/bin/sh", "-c", "cd x && PYTHONPATH=src python3 a.py MYPYTHONPATH=1"}, "/hook here", kVariables),
      ElementsAre("/bin/sh", "-c", "cd x && PYTHONPATH='/hook here':src python3 a.py MYPYTHONPATH=1"));
}

}  // namespace
}  // namespace warpmark::workers
