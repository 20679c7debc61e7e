// What the machine did while a program ran: its threads through /proc.
#include "profile/collectors/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "profile/read_session.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

constexpr const char* kRest = " 1 1 0 -1 0 1 2 3 4 30 12 5 6 20 0 9 0 777 1000 25 1844\n";

TEST(HostTimes, are_those_of_the_program_and_what_it_started) {
  warpmark::test::FakeTree tree;
  tree.file("proc/stat", "cpu  100 5 20 800 50 1 2 3 40 5\ncpu0 1 2 3\n")
      .file("proc/10/stat", std::string("10 (a) S (b) R 1") + kRest)
      .file("proc/10/task/10/stat", std::string("10 (a) S (b) R 1") + kRest)
      .file("proc/10/task/10/schedstat", "5000 70 12\n")
      .file("proc/10/task/11/stat", std::string("11 (worker) S 1") + kRest)
      .file("proc/12/stat", std::string("12 (child) R 10") + kRest)
      .file("proc/12/task/12/stat", std::string("12 (child) R 10") + kRest)
      .file("proc/12/task/12/schedstat", "1 2 3\n")
      .file("proc/99/stat", std::string("99 (stranger) R 1") + kRest)
      .file("proc/99/task/99/stat", std::string("99 (stranger) R 1") + kRest);
  const HostTimes times = read_host_times(tree.root(), 10);
  EXPECT_EQ(times.program_threads, 3);
  EXPECT_EQ(times.running_threads, 2);
  EXPECT_EQ(times.program_ticks, 3 * 42);
  EXPECT_EQ(times.busy_ticks, 100 + 5 + 20 + 1 + 2 + 3);
  EXPECT_EQ(times.all_ticks, 100 + 5 + 20 + 800 + 50 + 1 + 2 + 3);
  ASSERT_EQ(times.threads.size(), 2U) << "thread 11 has no schedstat";
  EXPECT_EQ(times.threads[0].name, "a) S (b");
  EXPECT_EQ(times.threads[0].running_ns, 5000);
  EXPECT_EQ(times.threads[0].waiting_ns, 70);
  EXPECT_EQ(times.threads[1].process, 12);
}

TEST(HostTimes, are_nothing_for_a_program_that_has_ended) {
  const HostTimes times = read_host_times("/nowhere", 10);
  EXPECT_EQ(times.program_threads, 0);
  EXPECT_TRUE(times.threads.empty());
}

double cpu_time_s(std::thread& thread) {
  clockid_t clock{};
  timespec now{};
  EXPECT_EQ(pthread_getcpuclockid(thread.native_handle(), &clock), 0);
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

TEST(CounterSampler, tells_threads_that_ran_from_blocked_ones) {
  if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "this kernel does not tell";
  warpmark::test::FakeTree folder;
  const auto file = folder.root() / "a.wmrec";
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    pthread_setname_np(pthread_self(), "wm_busy");
    while (!stop) {
    }
  });
  std::thread blocked([&] {
    pthread_setname_np(pthread_self(), "wm_blocked");
    while (!stop) usleep(20'000);
  });
  double ran_s = 0;
  {
    recording::RecordingWriter writer;
    ASSERT_TRUE(writer.open(file.c_str()));
    CounterSampler sampler(writer, getpid());
    sampler.sample();
    usleep(200'000);
    sampler.sample();  // the first that has something to tell of, which is left out below
    const double begin_s = cpu_time_s(busy);
    for (int i = 0; i < 500 && ran_s < 0.2; ++i) {
      usleep(200'000);
      ran_s = cpu_time_s(busy) - begin_s;
      sampler.sample();
    }
    writer.finish();
  }
  stop = true;
  busy.join();
  blocked.join();
  const auto session = read_session(std::vector{file});
  ASSERT_TRUE(session.ok());
  double busy_time = -1, blocked_time = 0;  // seconds between the first value and the last
  for (const auto& series : session->counters) {
    double sum = 0;
    for (std::size_t i = 1; i < series.values.size(); ++i) {
      sum += series.values[i] * static_cast<double>(series.times[i] - series.times[i - 1]) * 1e-9;
    }
    // Beside other programs the busy one may have to wait for a CPU: then it waited, and was not blocked.
    if (series.id.starts_with("thread_") && series.id.ends_with(" wm_busy")) busy_time = std::max(0.0, busy_time) + sum;
    if (series.id.starts_with("thread_running") && series.id.ends_with(" wm_blocked")) blocked_time += sum;
  }
  constexpr double kTicks = 0.05;  // the kernel counts a thread that runs from tick to tick
  EXPECT_GE(ran_s, 0.2);
  EXPECT_GT(busy_time, ran_s - kTicks);
  EXPECT_LT(blocked_time, ran_s / 2);
}

}  // namespace
}  // namespace warpmark::profile
