// The tables that HTA (facebookresearch/HolisticTraceAnalysis) defined, set against a second implementation of its
// definitions that shares nothing with the first: it paints the time of random programs, cell by cell of a microsecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string_view>

#include "analyze/analyze.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kRingAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
constexpr std::int64_t kCell = 1'000;
constexpr int kSteps = 5;

/// All times are whole microseconds; computation on stream 7, communication on stream 20.
Timeline random_ranks(unsigned seed) {
  std::mt19937 random(seed);
  const auto upto = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  return stepped(kSteps, [&](TimelineScene& scene) {
    for (int i = 3 + upto(12); i > 0; --i) {
      scene.dispatch_ns = kCell * (3 + upto(30));
      if (upto(3) == 0) {
        scene.launch(kRingAllReduce, kCell * (1 + upto(60)), 24, 20);
      } else {
        scene.launch(kTensorGemm, kCell * (1 + upto(60)));
      }
      if (upto(5) == 0) scene.idle_host(kCell * upto(100));
    }
    scene.launch(kTensorGemm, kCell * 10);
  });
}

struct Work {
  std::int64_t start, end, launched, stream;
  bool communicates;
};

/// Straight from the events: kernels with the call of the same correlation.
std::vector<Work> works_of(const Timeline& timeline) {
  std::map<std::uint32_t, std::int64_t> calls;
  const EventColumns& events = timeline.events;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::runtime_api) calls[events.correlation[i]] = events.start[i];
  }
  std::vector<Work> works;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::kernel) continue;
    works.push_back({events.start[i], events.start[i] + events.duration[i], calls.at(events.correlation[i]),
                     timeline.tracks[events.track[i]].thread, timeline.name_of(i).find("nccl") != std::string::npos});
  }
  return works;
}

const AnalysisTable& table_of(const Analysis& analysis, std::string_view id) {
  return *std::find_if(analysis.tables.begin(), analysis.tables.end(), [&](const auto& one) { return one.id == id; });
}

std::int64_t in_ns(const TableValue& seconds) {
  return static_cast<std::int64_t>(std::llround(std::get<double>(seconds) * 1e9));
}

TEST(Hta, overlap_is_the_painted_one) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    ProfileSession session;
    session.ranks.push_back(random_ranks(seed));
    const Analysis analysis = analyze(session);
    const std::int64_t from = analysis.ranks[0].steps.front().start_ns;
    const std::int64_t to = analysis.ranks[0].steps.back().end_ns;
    std::vector<bool> computes(static_cast<std::size_t>((to - from) / kCell));
    std::vector<bool> communicates(computes.size());
    for (const Work& work : works_of(session.ranks[0])) {
      for (std::int64_t at = std::max(work.start, from); at < std::min(work.end, to); at += kCell) {
        (work.communicates ? communicates : computes)[static_cast<std::size_t>((at - from) / kCell)] = true;
      }
    }
    std::int64_t all = 0;
    std::int64_t both = 0;
    for (std::size_t i = 0; i < computes.size(); ++i) {
      all += communicates[i];
      both += communicates[i] && computes[i];
    }
    const AnalysisTable& table = table_of(analysis, "overlap");
    if (all == 0) {
      EXPECT_TRUE(table.rows.empty());
      continue;
    }
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(in_ns(table.rows[0][1]), all * kCell) << seed;
    EXPECT_EQ(in_ns(table.rows[0][2]), both * kCell) << seed;
    EXPECT_NEAR(std::get<double>(table.rows[0][3]), static_cast<double>(both) / static_cast<double>(all), 1e-12);
  }
}

TEST(Hta, idle_time_of_a_stream_is_the_painted_one) {
  for (unsigned seed = 100; seed < 140; ++seed) {
    ProfileSession session;
    session.ranks.push_back(random_ranks(seed));
    const Analysis analysis = analyze(session);
    const std::int64_t from = analysis.ranks[0].steps.front().start_ns;
    const std::int64_t to = analysis.ranks[0].steps.back().end_ns;
    for (const auto& row : table_of(analysis, "idle").rows) {
      const std::string stream = std::get<std::string>(row[1]);
      std::vector<Work> mine;
      for (const Work& work : works_of(session.ranks[0])) {
        const bool here = stream == "GPU 0 stream " + std::to_string(work.stream);
        if (here && work.start >= from && work.start < to) mine.push_back(work);
      }
      std::int64_t busy = 0, host = 0, kernel = 0, other = 0;
      for (std::int64_t at = mine.front().start; at < mine.back().end; at += kCell) {
        const auto running = [at](const Work& work) { return work.start <= at && at < work.end; };
        if (std::any_of(mine.begin(), mine.end(), running)) {
          ++busy;
          continue;
        }
        // The gap around this cell, found by looking at every work.
        std::int64_t before = 0;
        const Work* next = nullptr;
        for (const Work& work : mine) {
          if (work.end <= at) before = std::max(before, work.end);
          if (work.start > at && (next == nullptr || work.start < next->start)) next = &work;
        }
        (next->launched > before ? host : next->start - before < 30'000 ? kernel : other) += 1;
      }
      EXPECT_EQ(in_ns(row[2]), busy * kCell) << stream << " of program " << seed;
      EXPECT_EQ(in_ns(row[3]), host * kCell) << stream << " of program " << seed;
      EXPECT_EQ(in_ns(row[4]), kernel * kCell) << stream << " of program " << seed;
      EXPECT_EQ(in_ns(row[5]), other * kCell) << stream << " of program " << seed;
    }
  }
}

}  // namespace
}  // namespace warpmark::analyze
