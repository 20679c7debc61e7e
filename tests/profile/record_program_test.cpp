#include "profile/collectors/record_program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

/// A terminal's Ctrl-C reaches the program, too, which may have ended by the time that the recorder looks.
TEST(RecordProgram, an_interrupt_that_ended_the_program_first_is_one) {
  if (std::filesystem::exists("/proc/driver/nvidia/version")) GTEST_SKIP() << "says nothing while the program runs";
  const warpmark::test::FakeTree folder;
  std::atomic<bool> interrupted = false;
  RecordOptions options;
  options.out = folder.root() / "p.wmrec";
  options.library = folder.root() / "none.so";
  options.interval_s = 0;
  options.command = {"sh", "-c", "sleep 1.2; exit 130"};
  options.interrupted = &interrupted;
  options.say = [&](const std::string&) {  // after a second, as there is no driver
    std::this_thread::sleep_for(std::chrono::seconds(2));
    interrupted = true;
  };
  const auto outcome = record_program(options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().what;
  EXPECT_EQ(outcome->exit_code, 130);
  EXPECT_TRUE(outcome->interrupted);
}

}  // namespace
}  // namespace warpmark::profile
