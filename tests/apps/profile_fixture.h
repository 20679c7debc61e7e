// `warpmark profile` on a GPU that a mock of CUPTI plays.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "profile/read_session.h"

namespace warpmark::apps {

const std::string kBuildFolder = WARPMARK_BINARY_DIR;
const std::string kProgram = kBuildFolder + "/mock_cupti/mock_program";

class ProfileCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << "the recorder is built where CUPTI's headers are";
    path_variable_ = std::getenv("PATH");
    setenv("WARPMARK_CUPTI", (kBuildFolder + "/mock_cupti/libmock_cupti.so").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("WARPMARK_CUPTI");
    if (!path_variable_.empty()) setenv("PATH", path_variable_.c_str(), 1);
    Cli::TearDown();
  }
  std::string path_variable_;
};

inline std::string fact_of(const Timeline& timeline, const std::string& key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return {};
}

/// What `warpmark profile` recorded; one process.
inline Timeline recorded(const std::string& file) {
  auto session = profile::read_session(std::vector<std::filesystem::path>{file});
  EXPECT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(session.ok() ? session->ranks.size() : 0U, 1U);
  return session.ok() && session->ranks.size() == 1 ? std::move(session->ranks[0]) : Timeline{};
}

inline std::int64_t count_of(const Timeline& timeline, const std::function<bool(EventIndex)>& wanted) {
  std::int64_t count = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) count += wanted(i) ? 1 : 0;
  return count;
}

}  // namespace warpmark::apps
