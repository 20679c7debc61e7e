#include "analyze/analyze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/replay/replay.h"
#include "base/json.h"
#include "model/json/json_analysis.h"
#include "support/analyzed.h"
#include "support/schema_check.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::schema_errors;
using testing_support::session_of;
using testing_support::stepped;
using testing_support::TimelineScene;

Timeline training(int kernels) {
  return stepped(6, [kernels](TimelineScene& scene) {
    scene.range("enumerate(DataLoader)", 500'000);
    scene.copy(CopyKind::host_to_device, HostMemory::pageable, 10 << 20, 400'000, true);
    for (int i = 0; i < kernels; ++i) {
      scene.within(
          "aten::mm", EventKind::op, [&] { scene.launch(kTensorGemm, 100'000); }, "[[8,8],[8,8]]");
    }
    scene.launch("extra_kernel", 50'000);
  });
}

TEST(Analysis, parts_sum_exactly_to_the_steps_and_to_the_step) {
  const Analysis analysis = analyze(session_of(training(10)));
  ASSERT_EQ(analysis.ranks.size(), 1U);
  std::int64_t rank_sum = 0;
  for (const BreakdownPart& part : analysis.ranks[0].breakdown) rank_sum += part.total_ns;
  EXPECT_EQ(rank_sum, analysis.ranks[0].steps.back().end_ns - analysis.ranks[0].steps.front().start_ns);
  std::int64_t sum = 0;
  for (const BreakdownPart& part : analysis.breakdown) sum += part.total_ns;
  const StepSpan all{analysis.ranks[0].steps.front().start_ns, analysis.ranks[0].steps.back().end_ns};
  const auto steps = static_cast<double>(analysis.ranks[0].steps.size());
  EXPECT_EQ(sum, std::llround(static_cast<double>(all.end_ns - all.start_ns) / steps));
}

TEST(Analysis, parts_over_ranks_are_the_mean_of_the_ranks_times) {
  const ProfileSession session = testing_support::on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.idle_host(rank == 0 ? 0 : 3'000'000);
    for (int i = 0; i < 4; ++i) scene.launch(kTensorGemm, rank == 0 ? 100'000 : 300'000);
  });
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.ranks.size(), 2U);
  const auto part_of = [](const std::vector<BreakdownPart>& parts, std::string_view id) {
    for (const BreakdownPart& part : parts) {
      if (part.id == id) return static_cast<double>(part.total_ns);
    }
    return 0.0;
  };
  double step = 0, gemm = 0;
  for (const RankAnalysis& rank : analysis.ranks) {
    const auto steps = static_cast<double>(rank.steps.size());
    gemm += part_of(rank.breakdown, "gemm") / steps / 2;
    step += static_cast<double>(rank.steps.back().end_ns - rank.steps.front().start_ns) / steps / 2;
  }
  EXPECT_NEAR(gemm, 800'000, 1);
  EXPECT_NEAR(part_of(analysis.breakdown, "gemm"), gemm, 30);  // the largest part takes what rounding leaves
  double sum = 0;
  for (const BreakdownPart& part : analysis.breakdown) {
    sum += static_cast<double>(part.total_ns);
    EXPECT_NEAR(part.share, static_cast<double>(part.total_ns) / step, 1e-4) << part.id;
  }
  EXPECT_NEAR(sum, step, 1);
}

TEST(Analysis, writes_what_its_schema_says) {
  ProfileSession session = session_of(training(10));
  session.ranks[0].quality.push_back({"truncated", "the file ends early", 1, "{\"name\""});
  session.quality.push_back({"truncated", "the file ends early", 2, ""});
  const Analysis analysis = analyze(session);
  const Json json = to_json(analysis);
  EXPECT_EQ(schema_errors(json, "analysis.schema.json"), "");
  EXPECT_EQ(json["data_quality"]["truncated"]["count"], 3);
  EXPECT_EQ(json["session"]["ranks"], 1);
}

TEST(Analysis, schema_refuses_what_is_wrong) {
  WM_NEEDS_SCHEMAS();
  Json json = to_json(analyze(session_of(training(10))));
  json["findings"][0]["severity"] = 2.0;
  EXPECT_NE(schema_errors(json, "analysis.schema.json"), "");
  json = to_json(analyze(session_of(training(10))));
  json.erase("breakdown");
  EXPECT_NE(schema_errors(json, "analysis.schema.json"), "");
}

TEST(Analysis, of_nothing_says_what_to_record) {
  const Analysis analysis = analyze({});
  EXPECT_EQ(schema_errors(to_json(analysis), "analysis.schema.json"), "");
  EXPECT_THAT(analysis.verdict, testing::HasSubstr("No GPU work"));
  EXPECT_FALSE(analysis.missing.empty());
  TimelineScene host_only;
  host_only.range("aten::mm", 1000, EventKind::op);
  EXPECT_TRUE(analyze(session_of(host_only.build())).findings.empty());
}

TEST(Analysis, is_the_same_every_time) {
  EXPECT_EQ(to_json(analyze(session_of(training(10)))).dump(), to_json(analyze(session_of(training(10)))).dump());
}

TEST(Analysis, combined_gain_of_one_fix_is_its_own) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.within("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", EventKind::op, [&scene] {
      for (int i = 0; i < 10; ++i) scene.range("aten::stack", 2'000'000, EventKind::op);
    });
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    scene.synchronize();
  }));
  const Finding* loading = find(analysis, "data_loading");
  ASSERT_NE(loading, nullptr);
  EXPECT_LT(analysis.combined.high, 1.2 * loading->gain.high);
}

TEST(Analysis, combined_gain_does_not_add_up_overlapping_gains) {
  const Analysis analysis = analyze(session_of(training(3)));
  double lost = 0;
  for (const Finding& finding : analysis.findings) lost += static_cast<double>(finding.lost_ns);
  EXPECT_LE(analysis.combined.high, 1.001 / (1 - lost / analysis.undisturbed_step_ns));
}

TEST(Analysis, has_all_tables_with_rows_as_wide_as_their_columns) {
  const Analysis analysis = analyze(session_of(training(10)));
  std::vector<std::string> ids;
  for (const AnalysisTable& table : analysis.tables) {
    ids.push_back(table.id);
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.id;
    EXPECT_FALSE(table.rows.empty() && table.note.empty()) << table.id;
  }
  EXPECT_THAT(ids, testing::ElementsAre("ranks", "kernels", "operators", "launches", "queue", "copies", "idle",
                                        "overlap", "collectives", "ranges", "phases", "critical_path"));
}

TEST(CriticalPath, covers_the_step_exactly_and_names_what_the_host_did) {
  const Analysis analysis = analyze(session_of(stepped(6, [](TimelineScene& scene) {
    scene.launch(kTensorGemm, 1'000'000);
    scene.synchronize();
    scene.range("preprocess.py(10): tokenize", 4'000'000, EventKind::python);
  })));
  const AnalysisTable& table = analysis.tables.back();
  ASSERT_EQ(table.id, "critical_path");
  double share = 0;
  for (const auto& row : table.rows) share += std::get<double>(row[2]);
  EXPECT_NEAR(share, 1.0, 1e-9);
  EXPECT_EQ(std::get<std::string>(table.rows.front()[0]), "idle_host_work: preprocess.py(10): tokenize");
  EXPECT_NEAR(std::get<double>(table.rows.front()[1]), 0.004, 1e-5);
}

TEST(CriticalPath, leads_beside_work_that_nothing_waits_for) {
  std::uint32_t id = 2'000;
  const Analysis analysis = analyze(session_of(stepped(6, [&id](TimelineScene& scene) {
    scene.launch(kTensorGemm, 3'000'000);
    scene.add({EventKind::runtime_api, scene.now(), 2'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, scene.now() + 500'000, 2'000'000, "side_kernel", scene.stream(13), id});
    scene.synchronize();
    scene.range("preprocess.py(10): tokenize", 1'000'000, EventKind::python);
  })));
  const AnalysisTable& table = analysis.tables.back();
  ASSERT_EQ(table.id, "critical_path");
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "gemm");
  EXPECT_NEAR(std::get<double>(table.rows[0][1]), 0.003, 1e-5);
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "idle_host_work: preprocess.py(10): tokenize");
  for (const auto& row : table.rows) EXPECT_NE(std::get<std::string>(row[0]), "other_kernels");
}

TEST(CriticalPath, ends_where_a_launch_seems_to_come_after_its_work) {
  std::uint32_t id = 1'000;
  const Analysis analysis = analyze(session_of(stepped(6, [&id](TimelineScene& scene) {
    scene.launch("first_kernel", 10'000);  // a step begins with its first work
    scene.add({EventKind::kernel, scene.now() + 100'000, 10'000, kTensorGemm, scene.stream(7), ++id});
    scene.idle_host(105'000);
    scene.api("cudaDeviceSynchronize", 20'000);
    scene.idle_host(10'000);
    scene.add({EventKind::runtime_api, scene.now(), 2'000, "cudaLaunchKernel", TimelineScene::kHost, id});
    scene.idle_host(50'000);
  })));
  const AnalysisTable& table = analysis.tables.back();
  ASSERT_EQ(table.id, "critical_path");
  double share = 0;
  for (const auto& row : table.rows) share += std::get<double>(row[2]);
  EXPECT_NEAR(share, 1.0, 1e-9);
}

TEST(Verdict, calls_no_idle_gpu_healthy_of_which_the_launches_are_unknown) {
  Timeline timeline = stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) {
      scene.launch(kTensorGemm, 100'000);
      scene.idle_host(200'000);
    }
  });
  for (EventIndex i = 0; i < timeline.events.size(); ++i) timeline.events.correlation[i] = 0;
  const Analysis analysis = analyze(session_of(std::move(timeline)));
  EXPECT_THAT(analysis.verdict, testing::HasSubstr("the recording does not show why")) << analysis.verdict;
}

TEST(Verdict, of_counters_alone_says_so) {
  ProfileSession session;
  session.counters.push_back({"gpu_utilization", "", 0, {0, 1}, {0.9, 0.9}});
  EXPECT_THAT(analyze(session).verdict, testing::StartsWith("Counters alone, of 1 GPU (gpu utilization): they do not"));
  session.counters.push_back({"throttle_reasons", "", 0, {0, 1}, {0, 0}});
  EXPECT_THAT(analyze(session).verdict, testing::StartsWith("Counters alone, of 1 GPU: no sign of throttling in them"));
  session.counters.push_back({"pcie_rx", "B/s", 0, {0, 1}, {0, 0}});
  EXPECT_THAT(analyze(session).verdict, testing::StartsWith("Counters alone, of 1 GPU: no sign of throttling or of a"));
}

TEST(Verdict, of_a_trace_of_another_tool_names_its_categories) {
  Timeline timeline = stepped(2, [](TimelineScene& scene) { scene.launch(kTensorGemm, 100'000); });
  for (EventIndex i = 0; i < timeline.events.size(); ++i) timeline.events.kind[i] = EventKind::other;
  timeline.metadata.emplace_back("unknown_categories", "forward, backward");
  EXPECT_THAT(analyze(session_of(std::move(timeline))).verdict, testing::HasSubstr("forward, backward"));
}

TEST(Analysis, lists_a_file_of_several_processes_once) {
  ProfileSession session;
  for (const char* source : {"a.sqlite", "b.sqlite", "a.sqlite"}) {
    session.ranks.emplace_back();
    session.ranks.back().source = source;
  }
  EXPECT_THAT(analyze(session).sources, testing::ElementsAre("a.sqlite", "b.sqlite"));
}

TEST(Steps, of_an_even_number_have_the_middle_of_two_as_median) {
  const Analysis analysis = analyze(session_of(training(10)));
  std::vector<std::int64_t> lengths;
  for (const StepSpan& step : analysis.ranks[0].steps) lengths.push_back(step.end_ns - step.start_ns);
  std::sort(lengths.begin(), lengths.end());
  ASSERT_FALSE(lengths.empty());
  const auto half = lengths.size() / 2;
  const auto expected = lengths.size() % 2 == 1 ? lengths[half] : std::midpoint(lengths[half - 1], lengths[half]);
  EXPECT_EQ(analysis.ranks[0].median_step_ns, expected);
}

TEST(Diff, names_what_appeared_vanished_and_changed) {
  const auto difference = diff(session_of(training(10)), session_of(training(12)));
  const auto& tables = difference.tables;
  ASSERT_EQ(tables.size(), 4U);
  EXPECT_EQ(tables[0].id, "diff_step");
  EXPECT_EQ(std::get<std::string>(tables[0].rows[0][1]), "slower");
  const auto& kernels = tables[3];
  EXPECT_EQ(std::get<std::string>(kernels.rows[0][0]), kTensorGemm);
  EXPECT_EQ(std::get<std::string>(kernels.rows[0][1]), "slower");
  EXPECT_NEAR(std::get<double>(kernels.rows[0][4]), 200e-6, 1e-9);
  ASSERT_TRUE(difference.step && difference.step->interval);
  EXPECT_GT(difference.step->interval->low, 1);
  EXPECT_NEAR(difference.step->ratio, difference.step->after_s / difference.step->before_s, 1e-12);
  const auto empty = diff(session_of(training(10)), {});
  EXPECT_FALSE(empty.step);
  EXPECT_EQ(std::get<std::string>(empty.tables[3].rows[0][1]), "vanished");
}

TEST(Diff, names_other_gpus_and_calls_less_than_a_nanosecond_the_same) {
  const auto changed = [](const std::string& gpu, std::int64_t longer_ns) {
    Timeline timeline = training(10);
    timeline.gpus.at(0).name = gpu;
    EventColumns& events = timeline.events;
    EventIndex last = 0;
    for (EventIndex i = 0; i < events.size(); ++i) last = events.kind[i] == EventKind::kernel ? i : last;
    events.duration[last] += longer_ns;
    return session_of(std::move(timeline));
  };
  const ProfileSession ten = changed("NVIDIA H100", 0);
  EXPECT_THAT(diff(ten, changed("NVIDIA A100", 0)).tables[0].note, testing::HasSubstr("NVIDIA A100 after"));
  const auto same = diff(ten, changed("NVIDIA H100", 1));
  EXPECT_EQ(same.tables[0].note.find("GPUs differ"), std::string::npos);
  for (const auto& row : same.tables[3].rows) EXPECT_EQ(std::get<std::string>(row[1]), "same");
}

struct Replayed {
  Timeline timeline;
  WorkList list;
  Steps steps;
  Coverage busy;
  HostActivity host;
  Replay replay;
  explicit Replayed(Timeline from)
      : timeline(std::move(from)),
        list(list_work(timeline)),
        steps(find_steps(timeline, list)),
        busy(busy_intervals(list, [](const GpuWork&) { return true; })),
        host(timeline, list, busy),
        replay(timeline, list, steps, host, busy, {}) {}
};

TEST(Replay, gives_back_the_recorded_step) {
  for (const int kernels : {2, 10, 40}) {
    const Replayed one(training(kernels));
    const double recorded = static_cast<double>(one.steps.length()) / static_cast<double>(one.steps.analyzed.size());
    EXPECT_NEAR(one.replay.step_ns() / recorded, 1.0, 0.03) << kernels;
  }
}

TEST(Replay, never_promises_more_than_the_gpu_and_the_host_need) {
  const Replayed one(training(10));
  WhatIf free_host;
  free_host.host_scale = WhatIf::filled(0);
  free_host.drop_wait.fill(true);
  EXPECT_NEAR(one.replay.step_ns(free_host), 1'450'000, 20'000);  // ten products, the copy and the extra kernel
  WhatIf free_gpu;
  free_gpu.duration_scale.assign(one.list.works.size(), 0.0F);
  EXPECT_GT(one.replay.step_ns(free_gpu), 500'000);  // the loader is left
}

}  // namespace
}  // namespace warpmark::analyze
