// What the launching thread was seen to do while the GPU had nothing to do, from samples of the kernel's scheduler.
#include "analyze/evidence/main_thread.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/rules/rules.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::TimelineScene;

constexpr std::int64_t kOrigin = 1'700'000'000'000'000'000;
constexpr std::int64_t kBetween = 100'000'000;  // of samples

/// Steps of 400 ms, of which the GPU works in the last `busy_ns` and the host loads data before.
ProfileSession loading(std::int64_t busy_ns) {
  ProfileSession session;
  TimelineScene scene;
  for (int step = 0; step < 12; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      scene.range("DataLoader.__next__", 400'000'000 - busy_ns);
      scene.launch("gemm", busy_ns - 1'000'000);
      scene.synchronize();
    });
  }
  session.ranks.push_back(scene.build());
  session.ranks[0].origin_ns = kOrigin;
  return session;
}

/// The thread's share on a processor and its share waiting for one, at every look for five seconds.
void sample(ProfileSession& session, double running, double waiting) {
  CounterSeries polls, runs, waits, other;
  polls.id = "program_threads";
  runs.id = "thread_running 1/1 python";
  waits.id = "thread_waiting 1/1 python";
  other.id = "thread_running 1/2 worker";
  for (int i = 0; i < 50; ++i) {
    polls.times.push_back(kOrigin + i * kBetween);
    polls.values.push_back(2);
    other.times.push_back(polls.times.back());
    other.values.push_back(1);
    if (running + waiting == 0 && i > 1) continue;  // the recorder leaves out threads that do nothing
    for (auto* series : {&runs, &waits}) series->times.push_back(polls.times.back());
    runs.values.push_back(running);
    waits.values.push_back(waiting);
  }
  session.counters = {polls, runs, waits, other};
}

TEST(MainThread, that_is_blocked_while_the_gpu_idles_waits) {
  auto session = loading(80'000'000);
  sample(session, 0.2, 0);
  const Evidence evidence = gather_evidence(session);
  const auto thread = main_thread(session, evidence.rank());
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->name, "python");
  EXPECT_NEAR(thread->running, 0.2, 1e-9);
  EXPECT_NEAR(thread->blocked, 0.8, 1e-9);
  EXPECT_GT(thread->idle_blocked_low, 0.6);
  EXPECT_GE(thread->idle_blocked_high, thread->idle_blocked_low);
  EXPECT_LE(thread->idle_blocked_high, 1.0);
  EXPECT_NE(idle_text(*thread).find("waits for a loader"), std::string::npos) << idle_text(*thread);
}

TEST(MainThread, that_runs_while_the_gpu_idles_works) {
  auto session = loading(80'000'000);
  sample(session, 0.85, 0.1);
  const auto thread = main_thread(session, gather_evidence(session).rank());
  ASSERT_TRUE(thread);
  EXPECT_NEAR(thread->waiting, 0.1, 1e-9);
  EXPECT_LT(thread->idle_blocked_high, 0.1);
  EXPECT_NE(idle_text(*thread).find("mostly works"), std::string::npos) << idle_text(*thread);
}

TEST(MainThread, that_waits_for_another_that_launches_too_does_not_count_as_blocked) {
  auto session = loading(80'000'000);
  sample(session, 0.4, 0);
  CounterSeries other = session.counters[1];  // on a processor while the first is not
  other.id = "thread_running 1/9 pt_autograd_0";
  other.values.assign(other.values.size(), 0.6);
  session.counters.push_back(other);
  Timeline& timeline = session.ranks[0];
  timeline.tracks.push_back({TrackKind::cpu_thread, 1, 9, -1, "pt_autograd_0"});
  bool turn = false;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.name_of(i) != "cudaLaunchKernel") continue;
    if (turn) timeline.events.track[i] = static_cast<std::uint32_t>(timeline.tracks.size() - 1);
    turn = !turn;
  }
  const auto thread = main_thread(session, gather_evidence(session).rank());
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->threads, 2);
  EXPECT_NEAR(thread->running, 1.0, 1e-9);
  EXPECT_NEAR(thread->blocked, 0, 1e-9);
}

TEST(MainThread, that_was_not_seen_to_run_was_blocked) {
  auto session = loading(80'000'000);
  sample(session, 0, 0);
  const auto thread = main_thread(session, gather_evidence(session).rank());
  ASSERT_TRUE(thread);
  EXPECT_NEAR(thread->blocked, 1, 1e-9);
}

TEST(MainThread, is_not_judged_where_samples_do_not_tell) {
  auto session = loading(240'000'000);  // the GPU idles 40 % of the time, the thread is blocked half of it
  sample(session, 0.5, 0);
  const auto thread = main_thread(session, gather_evidence(session).rank());
  ASSERT_TRUE(thread);
  EXPECT_EQ(idle_text(*thread), "");
}

TEST(MainThread, is_nothing_without_samples_in_the_steps) {
  auto session = loading(80'000'000);
  EXPECT_FALSE(main_thread(session, gather_evidence(session).rank()));
  sample(session, 0.5, 0);
  session.ranks[0].origin_ns = 0;  // another clock
  EXPECT_FALSE(main_thread(session, gather_evidence(session).rank()));
}

/// What data loading is advised where no range names the loader: the host is there before each upload.
std::string unnamed_loading_advice(double running) {
  ProfileSession session;
  TimelineScene scene;
  (void)scene.timeline().names.intern("aten::add");
  for (int step = 0; step < 12; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      scene.idle_host(320'000'000);
      scene.copy(CopyKind::host_to_device, HostMemory::pinned, 1'000'000, 100'000, false);
      scene.launch("gemm", 79'000'000);
      scene.synchronize();
    });
  }
  session.ranks.push_back(scene.build());
  session.ranks[0].origin_ns = kOrigin;
  sample(session, running, 0);
  const auto findings = kDataLoadingRule.apply(gather_evidence(session));
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? "" : findings[0].recommendations.at(0).text;
}

TEST(MainThread, that_is_blocked_before_uploads_has_workers_that_do_not_keep_up) {
  EXPECT_NE(unnamed_loading_advice(0.1).find("workers do not keep up"), std::string::npos);
  EXPECT_EQ(unnamed_loading_advice(0.9).find("workers do not keep up"), std::string::npos);
}

TEST(MainThread, is_evidence_of_data_loading) {
  auto session = loading(80'000'000);
  sample(session, 0.2, 0);
  const auto findings = kDataLoadingRule.apply(gather_evidence(session));
  ASSERT_EQ(findings.size(), 1U);
  const auto has = [&](const std::string& id) {
    return std::any_of(findings[0].evidence.begin(), findings[0].evidence.end(),
                       [&](const Fact& fact) { return fact.id == id; });
  };
  EXPECT_TRUE(has("main_thread_running"));
  EXPECT_TRUE(has("main_thread_blocked"));
  EXPECT_TRUE(has("main_thread_blocked_while_idle"));
  EXPECT_FALSE(has("main_thread_waiting"));
}

}  // namespace
}  // namespace warpmark::analyze
