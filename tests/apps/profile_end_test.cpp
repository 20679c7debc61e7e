// However a recording ends, it ends with an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "apps/in_background.h"
#include "apps/profile_fixture.h"

namespace warpmark::apps {
namespace {

using testing::HasSubstr;

class ProfileEnd : public ProfileCli {
 protected:
  /// Records the program until it is told to end, and returns once something was recorded.
  pid_t recording(const std::string& seconds) {
    const pid_t id = start_in_background("profile --delay 0s --duration 0s --out " + in_quotes(path("p.wmrec")) +
                                             " -- " + in_quotes(kProgram) + " " + seconds,
                                         path("out"));
    for (int i = 0; i < 1200 && bytes_in_parts() < 100'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return id;
  }
  [[nodiscard]] std::uintmax_t bytes_in_parts() const {
    std::uintmax_t bytes = 0;
    std::error_code none;
    for (const auto& part : std::filesystem::directory_iterator(path("p.wmrec.parts"), none)) {
      bytes += std::filesystem::file_size(part, none);
    }
    return bytes;
  }
};

TEST_F(ProfileEnd, interrupted_names_what_was_found) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(path("p.wmrec"));
    std::filesystem::remove(path("out"));
    EXPECT_EQ(end_with_signal(recording("60"), signal), 0);
    const std::string out = *read_file(path("out"));
    EXPECT_THAT(out, HasSubstr("more: warpmark analyze"));
    EXPECT_GT(recorded(path("p.wmrec")).events.size(), 1000U);
    EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.parts")));
  }
}

TEST_F(ProfileEnd, killed_itself_leaves_parts_that_are_read) {
  end_with_signal(recording("5"), SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec")));
  for (const std::string name : {"p.wmrec", "p.wmrec.parts"}) {
    const auto analysis = warpmark({"analyze", path(name)});
    EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
    EXPECT_THAT(analysis.out, HasSubstr("Where the time of a step goes"));
  }
}

TEST_F(ProfileEnd, told_to_stop_ends_the_program_once_it_is_recorded) {
  const auto begin = std::chrono::steady_clock::now();
  const auto output = warpmark({"profile", "--stop", "--delay", "300ms", "--duration", "300ms", "--windows", "0",
                                "--out", path("p.wmrec"), "--", kProgram, "60"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_GT(recorded(path("p.wmrec")).events.size(), 100U);
}

}  // namespace
}  // namespace warpmark::apps
