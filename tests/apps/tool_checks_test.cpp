#include "warpmark/sessions/tool_checks.h"

#include <gtest/gtest.h>

namespace warpmark::apps {
namespace {

const HealthCheck& find(const std::vector<HealthCheck>& checks, const std::string& id) {
  static const HealthCheck none;
  for (const auto& check : checks) {
    if (check.id == id) return check;
  }
  ADD_FAILURE() << id;
  return none;
}

/// As the tools print them: Nsight Systems 2024.5, Nsight Compute 2024.3, DCGM 3.3, Open MPI 4.1, glibc's ldconfig.
std::string answers(const std::vector<std::string>& words) {
  if (words[0] == "nsys") return "NVIDIA Nsight Systems version 2024.5.1.113-245134619542v0\n";
  if (words[0] == "ncu") {
    return "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2024 NVIDIA Corporation\nVersion "
           "2024.3.2.0 (build 34861637) (public-release)\n";
  }
  if (words[0] == "mpirun")
    return "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
  if (words[0] == "/sbin/ldconfig") {
    return "1184 libs found in cache\n\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnccl.so.2\n";
  }
  return "";
}

TEST(ToolChecks, have_the_version_and_what_the_tool_gives) {
  const auto checks = tool_checks(answers);
  EXPECT_EQ(find(checks, "tool_nsys").found, "2024.5.1.113; gives: warpmark profile --nsys; without it CUPTI records");
  EXPECT_EQ(find(checks, "tool_nsys").state, HealthState::good);
  EXPECT_TRUE(find(checks, "tool_ncu").found.starts_with("2024.3.2.0; ")) << find(checks, "tool_ncu").found;
  EXPECT_TRUE(find(checks, "tool_mpi").found.starts_with("4.1.4; "));
  EXPECT_TRUE(find(checks, "tool_nccl").found.starts_with("2; "));
  EXPECT_EQ(find(checks, "tool_dcgm").state, HealthState::info) << "nothing is wrong without it";
  EXPECT_TRUE(find(checks, "tool_dcgm").found.starts_with("not installed; it gives: "));
  EXPECT_FALSE(find(checks, "tool_pytorch").found.empty());
  EXPECT_FALSE(find(checks, "tool_jax").found.empty());
}

TEST(AskTool, says_nothing_of_a_program_that_is_not_there) {
  EXPECT_EQ(ask_tool({"no-such-program-of-anybody", "--version"}), "");
}

}  // namespace
}  // namespace warpmark::apps
