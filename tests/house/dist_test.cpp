// The distribution must start on systems older than the one it is made on.
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <string>

#include "base/subprocess.h"

namespace warpmark {
namespace {

TEST(Distribution, asks_for_no_newer_system_libraries_than_it_promises) {
  const std::string version = gnu_get_libc_version();
  const int minor = std::stoi(version.substr(version.find('.') + 1));
  if (minor > 36) {
    GTEST_SKIP() << "the distribution is made on Debian 12 (glibc 2.36), and this system has glibc " << version;
  }
  const auto checked =
      run_process({std::string(WARPMARK_SOURCE_DIR) + "/cmake/make_dist.sh", "--check-symbols", WARPMARK_BINARY_DIR},
                  {.deadline_s = 60});
  ASSERT_TRUE(checked.ok()) << checked.error().what;
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
}

}  // namespace
}  // namespace warpmark
