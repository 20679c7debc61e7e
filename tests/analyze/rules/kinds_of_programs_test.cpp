// Kinds of programs that published profiles show: a late host among ranks, GPUs of one process that meet in
// collectives, start-up that takes the whole recording, kernels side by side, pages of managed memory, GPUs that
// nothing uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analyze/steps/steps.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::expect_gain;
using testing_support::find;
using testing_support::iterated;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

/// Four ranks that compute the same; the host of rank 2 does something else for 2 ms in a range of its own.
ProfileSession with_late_host() {
  ProfileSession session;
  constexpr std::int64_t kLate = 2'000'000, kStep = 4'000'000;
  for (int rank = 0; rank < 4; ++rank) {
    TimelineScene scene;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t begin = scene.now();
      scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
        scene.within("sparse part", EventKind::annotation, [&] {
          scene.idle_host(rank == 2 ? kLate : 10'000);
          scene.launch(kTensorGemm, 500'000);
        });
        const std::int64_t meets = begin + kLate + 600'000;  // where the last rank comes to the collective
        const std::int64_t since = scene.now() + 520'000;
        scene.launch(kAllReduce, std::max<std::int64_t>(100'000, meets + 100'000 - since));
        scene.idle_host(begin + kStep - scene.now());
      });
    }
    Timeline timeline = scene.build();
    timeline.rank = rank;
    timeline.world_size = 4;
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}

TEST(Programs, name_the_rank_whose_host_is_late_and_what_it_does) {
  const Analysis analysis = analyze(with_late_host());
  const Finding* finding = find(analysis, "load_imbalance");
  ASSERT_NE(finding, nullptr) << analysis.verdict;
  EXPECT_THAT(finding->title, StartsWith("Rank 2's host is late"));
  EXPECT_THAT(finding->recommendations.front().text, HasSubstr("others' hosts do not do"));
  bool named = false;
  for (const Fact& fact : finding->evidence) named = named || fact.text.find("runs sparse part: ") != std::string::npos;
  EXPECT_TRUE(named) << "the range around it";
}

/// Two GPUs of one process: what one waits for in a collective is the other, and no communication.
TEST(Programs, see_which_of_several_gpus_of_a_process_is_late) {
  TimelineScene scene;
  const std::uint32_t first = scene.stream(7), second = scene.stream(8);
  scene.timeline().tracks[second].device = 1;
  std::uint32_t id = 0;
  const auto kernel = [&](std::uint32_t track, std::int64_t start, std::int64_t ns, const char* name) {
    scene.add({EventKind::runtime_api, start - 20'000, 2'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, start, ns, name, track, id});
  };
  for (int i = 0; i < 6; ++i) {
    const std::int64_t begin = 1'000'000 + i * 2'000'000;
    scene.add({EventKind::annotation, begin - 50'000, 1'990'000, "ProfilerStep#" + std::to_string(i)});
    kernel(first, begin, 200'000, kTensorGemm);
    kernel(second, begin, 1'700'000, kTensorGemm);
    kernel(first, begin + 210'000, 1'600'000, kAllReduce);
    kernel(second, begin + 1'710'000, 100'000, kAllReduce);
  }
  const Analysis analysis = of(scene.build());
  const auto waiting = std::ranges::find(analysis.breakdown, "idle_waiting_for_rank", &BreakdownPart::id);
  ASSERT_NE(waiting, analysis.breakdown.end());
  EXPECT_NEAR(waiting->share, 0.375, 0.02) << "1.5 of 2 ms on one of the two";
}

/// Steps of 10 ms on two GPUs of one process that waits at the end of each: kernels from and for so long, in ns.
struct Stretch {
  std::int64_t from, ns;
};
Analysis on_two_gpus(Stretch on_first, Stretch on_second) {
  TimelineScene scene;
  const std::uint32_t first = scene.stream(7), second = scene.stream(8);
  scene.timeline().tracks[second].device = 1;
  std::uint32_t id = 0;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t begin = 1'000'000 + i * 10'000'000;
    scene.add({EventKind::annotation, begin - 50'000, 9'990'000, "ProfilerStep#" + std::to_string(i)});
    for (const auto& [track, stretch] : {std::pair(first, on_first), std::pair(second, on_second)}) {
      scene.add({EventKind::runtime_api, begin + 10'000 * (track == second), 5'000, "cudaLaunchKernel",
                 TimelineScene::kHost, ++id});
      scene.add({EventKind::kernel, begin + stretch.from, stretch.ns, kTensorGemm, track, id});
    }
    scene.add({EventKind::runtime_api, begin + 30'000, 9'780'000, "cudaDeviceSynchronize"});
  }
  return of(scene.build());
}

TEST(Programs, see_which_gpu_of_a_process_has_more_work) {
  const Analysis analysis = on_two_gpus({20'000, 9'700'000}, {30'000, 4'000'000});
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_THAT(analysis.verdict, StartsWith("GPU 0 has more work: the others wait 5.690 ms"));
}

TEST(Programs, see_gpus_that_work_one_after_the_other) {
  const Analysis analysis = on_two_gpus({20'000, 4'800'000}, {4'830'000, 4'900'000});
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_THAT(analysis.verdict, StartsWith("The GPUs work one after the other: one waits"));
  EXPECT_NEAR(analysis.findings.front().gain.high, 1.9, 0.15);
}

/// Two replicas: each thread launches on its own GPU, and the first one's launch takes long.
TEST(Programs, whose_gpus_do_not_meet_wait_for_nobody) {
  TimelineScene scene;
  const std::uint32_t first = scene.stream(7), second = scene.stream(8);
  scene.timeline().tracks[second].device = 1;
  std::uint32_t id = 0;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t begin = 1'000'000 + i * 10'000'000;
    scene.add({EventKind::annotation, begin - 50'000, 9'990'000, "ProfilerStep#" + std::to_string(i)});
    scene.add({EventKind::runtime_api, begin, 5'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, begin + 20'000, 9'700'000, kTensorGemm, second, id});
    scene.add({EventKind::runtime_api, begin + 10'000, 5'500'000, "cudaLaunchKernel", TimelineScene::kHost, ++id});
    scene.add({EventKind::kernel, begin + 5'520'000, 4'000'000, kTensorGemm, first, id});
  }
  const Analysis analysis = of(scene.build());
  EXPECT_EQ(find(analysis, "load_imbalance"), nullptr) << analysis.verdict;
}

TEST(Programs, of_which_a_part_of_the_kernels_was_lost_are_told_so) {
  const auto losing = [](int every) {
    int launched = 0;
    Timeline timeline = stepped(6, [&](TimelineScene& scene) {
      for (int k = 0; k < 12; ++k) scene.launch(kTensorGemm, 200'000);
      for (int k = 0; k < 12; ++k) {
        if (++launched % every == 0) scene.api("cudaLaunchKernel", 5'000);  // no kernel of that correlation
      }
      scene.synchronize();
    });
    return of(std::move(timeline));
  };
  const Analysis all = losing(1);  // 12 of 24 a step
  EXPECT_THAT(all.verdict, StartsWith("GPU work is missing: 72 of 144 kernel launches"));
  const Analysis some = losing(3);  // 4 of 16
  ASSERT_FALSE(some.cautions.empty());
  EXPECT_THAT(some.cautions.front(), StartsWith("24 of 96 kernel launches left no kernel"));
  const Analysis few = losing(24);
  EXPECT_TRUE(few.cautions.empty());
}

TEST(Programs, that_start_for_all_of_the_recording_are_told_so) {
  TimelineScene scene;
  scene.api("cudaMalloc", 400'000);
  scene.add({EventKind::runtime_api, scene.now(), 200'000'000, "cudaLaunchKernel", TimelineScene::kHost, 900});
  scene.idle_host(200'000'000);
  scene.add({EventKind::kernel, scene.now() - 3'000, 5'000, "add", scene.stream(7), 900});
  EXPECT_THAT(of(scene.build()).verdict,
              AllOf(StartsWith("Start-up takes 200.0 ms of the 200.0 ms since the first launch (cudaLaunchKernel:"),
                    EndsWith("the GPU's work, from first to last, 5.000 \u00b5s.")));
}

TEST(Programs, whose_steps_are_marked_start_without_a_word_in_the_verdict) {
  TimelineScene scene;
  scene.api("cudaLaunchKernel", 200'000'000);
  for (int i = 0; i < 5; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      for (int k = 0; k < 5; ++k) scene.launch(kTensorGemm, 100'000);
    });
  }
  scene.synchronize();
  EXPECT_THAT(of(scene.build()).verdict, Not(HasSubstr("Start-up")));
}

/// 66 of 132 multiprocessors each: together they fill the GPU.
TEST(Programs, fill_the_gpu_with_kernels_side_by_side) {
  const auto both = [](std::int64_t second_stream) {
    return of(stepped(5, [second_stream](TimelineScene& scene) {
      scene.launch("half", 1'000'000, 66);
      scene.launch("other half", 1'000'000, 66, second_stream);
      scene.synchronize();
    }));
  };
  const Analysis together = both(8);
  EXPECT_EQ(find(together, "gpu_underused"), nullptr);
  const Analysis in_turn = both(7);
  const Finding* finding = find(in_turn, "gpu_underused");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, StartsWith("Kernels with few blocks leave 49"));
}

TEST(Programs, prefetch_pages_of_managed_memory) {
  const auto moved = [](const std::string& how) {
    return of(iterated(5, [&how](TimelineScene& scene) {
      scene.launch(kTensorGemm, 100'000);
      scene.synchronize();
      scene.add({EventKind::memcpy, scene.now(), 400'000, "Page migration HtoD (" + how + ")", scene.stream(7), 0,
                 8'388'608, copy_detail(CopyKind::host_to_device, HostMemory::managed)});
      scene.idle_host(410'000);
    }));
  };
  const auto advice = [](const Analysis& analysis) {
    const Finding* finding = find(analysis, "host_transfer");
    return finding == nullptr ? analysis.verdict : finding->recommendations.front().text;
  };
  EXPECT_THAT(advice(moved("GPU page fault")), HasSubstr("before it is touched"));
  EXPECT_THAT(advice(moved("prefetch by the program")), HasSubstr("piece by piece"));
}

TEST(Programs, wait_for_pages_that_migrate_under_a_kernel) {
  const auto analysis = [](const std::string& how) {
    return of(iterated(5, [&how](TimelineScene& scene) {
      const std::int64_t start = scene.now();
      scene.launch("jacobi(float*)", 9'000'000);
      for (int i = 0; i < 80; ++i) {
        scene.add({EventKind::memcpy, start + 100'000 + i * 100'000, 100'000, "Page migration HtoD (" + how + ")",
                   scene.stream(8), 0, 2'097'152, copy_detail(CopyKind::host_to_device, HostMemory::managed)});
      }
      scene.synchronize();
    }));
  };
  const Analysis on_demand = analysis("GPU page fault");
  ASSERT_FALSE(on_demand.findings.empty());
  const Finding& finding = on_demand.findings.front();
  EXPECT_EQ(finding.rule, "host_transfer");
  EXPECT_THAT(finding.title, StartsWith("Pages of managed memory migrate for 8.000 ms per step"));
  EXPECT_THAT(finding.recommendations.at(0).text, HasSubstr("Prefetch managed memory before it is touched"));
  EXPECT_LE(finding.gain.high, 9.0 / 4 + 0.1) << "the data still has to move, at best twice as fast";
  const Analysis prefetched = analysis("prefetch by the program");
  EXPECT_EQ(find(prefetched, "host_transfer"), nullptr);
}

TEST(Programs, that_copy_between_gpus_with_nothing_next_to_it) {
  const auto analysis = [](CopyKind kind, std::int64_t ns) {
    return of(iterated(5, [&](TimelineScene& scene) {
      scene.launch(kTensorGemm, 5'000'000);
      scene.synchronize();
      scene.add({EventKind::memcpy, scene.now(), ns, "Memcpy", scene.stream(7), 0, 400'000'000,
                 copy_detail(kind, HostMemory::unknown)});
      scene.idle_host(ns);
    }));
  };
  const Analysis between = analysis(CopyKind::peer_to_peer, 4'000'000);
  ASSERT_FALSE(between.findings.empty());
  EXPECT_EQ(between.findings.front().rule, "device_copy");
  EXPECT_THAT(between.findings.front().title, StartsWith("Copies between GPUs take 4.000 ms per step (44"));
  expect_gain(&between.findings.front(), 1.8);
  const Analysis within = analysis(CopyKind::device_to_device, 4'000'000);
  ASSERT_FALSE(within.findings.empty());
  EXPECT_THAT(within.findings.front().title, StartsWith("Copies on the GPU"));
  const Analysis little = analysis(CopyKind::device_to_device, 100'000);
  EXPECT_EQ(find(little, "device_copy"), nullptr);
}

/// All that is said of 4 steps of many short launches, and then of one product in FP32.
std::string said_of(const char* gpu, int major, const char* launch, const char* product) {
  const auto texts = [&](int launches, std::int64_t ns, const char* kernel) {
    TimelineScene scene;
    scene.timeline().gpus = {{.index = 0, .name = gpu, .compute_major = major}};
    for (int step = 0; step < 4; ++step) {
      scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
        if (step == 0) scene.api(launch, 5'000);
        for (int i = 0; i < launches; ++i) scene.launch(kernel, ns);
        scene.synchronize();
      });
    }
    const Analysis analysis = of(scene.build());
    std::string all = analysis.verdict;
    for (const Finding& finding : analysis.findings) {
      all += finding.title;
      for (const Fact& fact : finding.evidence) all += fact.text;
      for (const Recommendation& one : finding.recommendations) all += one.text + one.snippet;
    }
    for (const MissingData& missing : analysis.missing) all += missing.what + missing.how;
    return all;
  };
  return texts(200, 1'000, "void at::native::vectorized_elementwise_kernel<4>") + texts(1, 10'000'000, product);
}

TEST(Programs, are_told_of_in_the_words_and_with_the_tools_of_their_vendor) {
  const std::string amd =
      said_of("AMD Instinct MI250X", 9, "hipLaunchKernel", "Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x2");
  EXPECT_THAT(
      amd, AllOf(HasSubstr("as a HIP graph"), HasSubstr("rocprof"), HasSubstr("amd-smi"),
                 HasSubstr("per step (99.9 %) in FP32"), HasSubstr("Multiply in BF16"), Not(HasSubstr("allow TF32"))));
  const std::string intel =
      said_of("Intel(R) Data Center GPU Max 1550", 12, "urEnqueueKernelLaunch", "intel_sgemm_fp32");
  EXPECT_THAT(intel, AllOf(HasSubstr("as an XPU graph"), HasSubstr("torch.xpu.XPUGraph()"), HasSubstr("xpu-smi"),
                           Not(HasSubstr("torch.cuda")), Not(HasSubstr("cudnn"))));
  for (const std::string& said : {amd, intel}) {
    EXPECT_THAT(
        said, AllOf(Not(HasSubstr("CUDA graph")), Not(HasSubstr("ncu ")), Not(HasSubstr("nvidia-smi")),
                    Not(HasSubstr("nsys")), Not(HasSubstr("enable_cuda_sync_events")), Not(HasSubstr("tensor cores"))));
  }
}

TEST(Programs, that_train_scale_the_loss_and_others_have_none) {
  const auto advice = [](const std::string& range) {
    TimelineScene scene;
    scene.timeline().gpus = {{.index = 0, .name = "Tesla T4", .compute_major = 7, .compute_minor = 5}};
    for (int step = 0; step < 5; ++step) {
      scene.within(range, EventKind::annotation, [&] {
        scene.within("aten::mm", EventKind::op, [&] { scene.launch("turing_sgemm_128x64_tn", 1'000'000); });
        scene.synchronize();
      });
    }
    const Analysis analysis = of(scene.build());
    const Finding* finding = find(analysis, "precision");
    return finding == nullptr ? analysis.verdict
                              : finding->recommendations.front().text + finding->recommendations.front().snippet;
  };
  const std::string served = advice("execute_context_0(0)_generation_32(32)"), trained = advice("forward and backward");
  EXPECT_THAT(served, AllOf(HasSubstr("FP16"), Not(HasSubstr("loss")), Not(HasSubstr("GradScaler"))));
  EXPECT_THAT(trained, AllOf(HasSubstr("with the loss scaled"), HasSubstr("GradScaler")));
}

TEST(Programs, leave_gpus_unused_and_are_no_slower_for_it) {
  ProfileSession session;
  const auto used = [](int device, double share) {
    CounterSeries series{.id = "gpu_utilization", .unit = "", .device = device, .times = {}, .values = {}};
    for (int i = 0; i < 4; ++i) {
      series.times.push_back(i * 1'000'000'000LL);
      series.values.push_back(share);
    }
    return series;
  };
  session.counters = {used(0, 0.95), used(1, 0.0001)};
  const Analysis analysis = analyze(session);
  EXPECT_THAT(analysis.verdict, StartsWith("GPU 1 is not used"));
  EXPECT_TRUE(analysis.findings.front().gain.unknown);
}

TEST(ProgramSteps, of_few_markers_end_with_the_last_and_leave_a_slow_start_out) {
  int i = 0;
  const Timeline timeline = stepped(3, [&i](TimelineScene& scene) {
    scene.launch(kTensorGemm, i++ == 0 ? 3'000'000 : 1'000'000);
    scene.synchronize();
  });
  const Steps steps = find_steps(timeline, list_work(timeline));
  ASSERT_EQ(steps.analyzed.size(), 2U);
  for (const StepSpan& span : steps.analyzed) EXPECT_NEAR(static_cast<double>(span.end_ns - span.start_ns), 1e6, 3e4);
}

TEST(ProgramSteps, are_calls_of_a_python_function_around_all_of_the_work) {
  std::mt19937 random(5);
  TimelineScene scene;
  for (int i = 0; i < 8; ++i) {
    scene.within("worker.py(12): execute_model", EventKind::python, [&] {
      for (unsigned k = 0; k < 3 + random() % 6; ++k) {  // no two calls launch the same
        scene.within("worker.py(40): layer", EventKind::python,
                     [&] { scene.launch("kernel_" + std::to_string(random() % 97), 200'000); });
      }
      scene.synchronize();
    });
  }
  const Timeline timeline = scene.build();
  const Steps steps = find_steps(timeline, list_work(timeline));
  EXPECT_EQ(steps.found_by, "calls of execute_model");
  EXPECT_EQ(steps.found, 8);
}

}  // namespace
}  // namespace warpmark::analyze
