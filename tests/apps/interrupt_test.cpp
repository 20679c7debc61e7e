// How long a program goes on after Ctrl-C.
#include "warpmark/terminal/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "warpmark/command.h"

namespace warpmark::apps {
namespace {

/// Works on after the signal for longer than was allowed before it.
[[noreturn]] void work_after_a_signal(double grace_s) {
  handle_interrupts();
  set_grace(0.3);
  (void)std::raise(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  set_grace(grace_s);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::_Exit(77);
}

TEST(Interrupt, ends_a_program_that_does_not_come_back) {
  EXPECT_EXIT(work_after_a_signal(0.3), ::testing::ExitedWithCode(kInterrupted), "");
}

TEST(Interrupt, waits_for_work_that_asks_for_time_after_the_signal) {
  EXPECT_EXIT(work_after_a_signal(60), ::testing::ExitedWithCode(77), "");
}

}  // namespace
}  // namespace warpmark::apps
