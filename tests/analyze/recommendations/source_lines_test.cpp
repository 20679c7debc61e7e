// Findings name lines of the program's own code, from stacks in the ways that recorders write them.
#include <gtest/gtest.h>

#include "analyze/names/code_frames.h"
#include "analyze/recorded/thread_stacks.h"
#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::TimelineScene;

TEST(CodeFrames, are_read_as_each_recorder_writes_them) {
  struct FrameCase {
    const char* name;
    const char* file;
    std::int64_t line;
    const char* function;
  };
  const FrameCase cases[] = {
      {"/home/me/a b/train.py:57 main", "/home/me/a b/train.py", 57, "main"},
      {"train.py(50): Model.forward", "train.py", 50, "Model.forward"},
      {"$train.py:12 step", "train.py", 12, "step"},
      {"<built-in method item of Tensor object at 0x7f00>", "", 0, "item"},
      {"<built-in function len>", "", 0, "len"},
      {"nn.Module: Linear_0", "", 0, "nn.Module: Linear_0"},
      {"train.py(x): f", "", 0, "train.py(x): f"},
      {"", "", 0, ""},
  };
  for (const FrameCase& one : cases) {
    const CodeFrame frame = parse_code_frame(one.name);
    EXPECT_EQ(frame.file, one.file) << one.name;
    EXPECT_EQ(frame.line, one.line) << one.name;
    EXPECT_EQ(frame.function, one.function) << one.name;
  }
  EXPECT_TRUE(is_library_code("/usr/lib/python3.11/threading.py"));
  EXPECT_TRUE(is_library_code("/venv/lib/x/site-packages/torch/nn/modules/module.py"));
  EXPECT_TRUE(is_library_code("torch/nn/modules/module.py"));
  EXPECT_TRUE(is_library_code("/scratch/cache/ks/cksuvhfwmxj6lyms32snaud4gztekdoehfr6sx7bdlz7djcvsm23.py"));
  EXPECT_FALSE(is_library_code("/home/me/computes_the_losses_of_all_the_models_and_writes_.py"));
  EXPECT_TRUE(is_library_code("<frozen runpy>"));
  EXPECT_TRUE(is_library_code("/usr/local/cuda/bin/../targets/x86_64-linux/include/crt/device_functions.h"));
  EXPECT_TRUE(is_library_code("/opt/nvidia/targets/sbsa-linux/include/cuda_runtime.h"));
  EXPECT_TRUE(is_library_code("tmpxft_00004f7c_00000000-6_solver.cudafe1.stub.c"));
  EXPECT_TRUE(is_library_code("/tmp/x/hook/_warpmark_torch.py"));
  EXPECT_TRUE(is_library_code("/usr/local/cuda-12.8/include/cub/cub.cuh"));
  EXPECT_TRUE(is_library_code("/usr/local/cuda/lib64/libcudart.so"));
  EXPECT_FALSE(is_library_code("/home/me/train.py"));
  EXPECT_FALSE(is_library_code("/home/me/app-linux/include/kernel.cuh"));
  EXPECT_FALSE(is_library_code("/usr/local/cuda_work/train.py"));
  EXPECT_FALSE(is_library_code("/usr/local/cuda-work/include/kernel.cuh"));
  EXPECT_FALSE(is_library_code("/usr/local/cuda/samples/x.cu"));
}

/// Steps whose wait for the GPU `around` makes.
template <typename Around>
Timeline waiting(Around around) {
  return testing_support::stepped(8, [&](TimelineScene& scene) {
    scene.within("train.py(5): train", EventKind::python, [&] {
      scene.within("model.py(9): forward", EventKind::python, [&] {
        for (int i = 0; i < 5; ++i) scene.launch("some_kernel", 200'000);
      });
      around(scene);
      scene.idle_host(400'000);
    });
  });
}

TEST(SourceLines, a_wait_is_at_the_innermost_line_of_the_program) {
  const Analysis analysis = testing_support::of(waiting([](TimelineScene& scene) {
    scene.within("train.py(40): log_loss", EventKind::python, [&] {
      scene.idle_host(100);  // frames that begin together have no order
      scene.within("torch/_tensor.py(3): wrapped", EventKind::python, [&] {
        scene.idle_host(100);
        scene.within("<built-in method item of Tensor object at 0x7f>", EventKind::python,
                     [&] { scene.synchronize(); });
      });
    });
  }));
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(finding, nullptr);
  ASSERT_FALSE(finding->evidence.empty());
  EXPECT_EQ(finding->evidence[0].id, "source_line");
  EXPECT_NE(finding->evidence[0].text.find("At train.py:40 log_loss, calling item"), std::string::npos)
      << finding->evidence[0].text;
  ASSERT_FALSE(analysis.tables.empty());
  EXPECT_EQ(analysis.tables[0].id, "source_lines");
}

TEST(SourceLines, the_text_of_the_line_is_told_where_it_is_known) {
  AnalyzeOptions options;
  options.source = [](std::string_view file, std::int64_t line) {
    return file == "train.py" && line == 40 ? std::string("print(loss.item())") : std::string();
  };
  const Analysis analysis =
      analyze(testing_support::session_of(waiting([](TimelineScene& scene) {
                scene.within("train.py(40): log_loss", EventKind::python, [&] { scene.synchronize(); });
              })),
              options);
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->evidence[0].text.find("train.py:40 log_loss: print(loss.item())"), std::string::npos);
}

using Samples = std::vector<std::pair<std::int64_t, const char*>>;  // when, and the frame that was seen

/// The scene with a row of samples, each of which holds until the next.
Analysis sampled(TimelineScene& scene, const Samples& seen) {
  const auto stacks = static_cast<std::uint32_t>(scene.timeline().tracks.size());
  scene.timeline().tracks.push_back({TrackKind::other, 1, 1, -1, "stacks"});
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::int64_t end = i + 1 < seen.size() ? seen[i + 1].first : scene.now();
    scene.add({EventKind::python, seen[i].first, end - seen[i].first, seen[i].second, stacks});
  }
  return testing_support::of(scene.build());
}

TEST(SourceLines, of_samples_those_within_a_call_tell_for_all_calls_of_its_kind) {
  TimelineScene scene;
  Samples seen;
  for (int step = 0; step < 48; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      seen.emplace_back(scene.now(), "/home/me/train.py:99 forward");
      scene.idle_host(60'000);
      for (int i = 0; i < 5; ++i) scene.launch("some_kernel", 50'000);
      scene.idle_host(60'000);
      if (step % 4 == 0) seen.emplace_back(scene.now() + 500, "/home/me/train.py:30 load");
      scene.copy(CopyKind::host_to_device, HostMemory::pinned, 10'000'000, 400'000, false);
      scene.idle_host(60'000);
      scene.synchronize();
    });
  }
  const Analysis analysis = sampled(scene, seen);
  const Finding* finding = find(analysis, "host_transfer");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence[0].id, "source_line");
  EXPECT_NE(finding->evidence[0].text.find("train.py:30 load"), std::string::npos) << finding->evidence[0].text;
}

TEST(SourceLines, of_samples_those_within_a_wait_tell_for_all_waits_behind_the_same_kernel) {
  TimelineScene scene;
  Samples seen;
  for (int step = 0; step < 48; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      seen.emplace_back(scene.now(), "/home/me/train.py:99 forward");
      scene.idle_host(60'000);
      for (int i = 0; i < 5; ++i) scene.launch("some_kernel", 50'000);
      if (step % 4 == 0) seen.emplace_back(scene.now() + 500, "/home/me/train.py:30 token");
      scene.synchronize();
      if (step % 4 == 0) seen.emplace_back(scene.now() + 50'000, "/home/me/train.py:99 forward");
      scene.idle_host(400'000);
    });
  }
  const Analysis analysis = sampled(scene, seen);
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence[0].id, "source_line");
  EXPECT_NE(finding->evidence[0].text.find("train.py:30 token"), std::string::npos) << finding->evidence[0].text;
}

/// PyTorch runs a compiled backward on a thread of its own.
TEST(SourceLines, of_samples_name_what_the_host_does_between_launches) {
  TimelineScene scene;
  Samples seen;
  for (int step = 0; step < 12; ++step) {
    scene.within("ProfilerStep#" + std::to_string(step), EventKind::annotation, [&] {
      seen.emplace_back(scene.now(), "/home/me/train.py:99 forward");
      for (int i = 0; i < 5; ++i) scene.launch("some_kernel", 500'000);
      scene.synchronize();
      seen.emplace_back(scene.now(), "/home/me/train.py:30 tokenize");
      scene.idle_host(12'000'000);
    });
  }
  const Analysis analysis = sampled(scene, seen);
  const Finding* finding = find(analysis, "host_work");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("while the host runs tokenize (train.py:30)"), std::string::npos) << finding->title;
  EXPECT_TRUE(finding->gain.unknown) << "a line may launch work, too";
}

TEST(SourceLines, what_a_compiler_generated_is_not_the_program) {
  const std::string generated = "/tmp/k/ks/cksuvhfwmxj6lyms32snaud4gztekdoehfr6sx7bdlz7djcvsm23.py(1082): call";
  TimelineScene scene;
  auto& timeline = scene.timeline();
  const auto first = static_cast<std::uint32_t>(timeline.tracks.size());
  for (const int thread : {1, 2}) timeline.tracks.push_back({TrackKind::cpu_thread, 1, thread, -1, "thread"});
  scene.add({EventKind::python, 0, 1000, "train.py(5): train", first});
  scene.add({EventKind::python, 100, 800, generated, first + 1});
  const Timeline built = scene.build();
  const auto found = ThreadStacks(built).within(first + 1, 200, 300);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(built.name_of(found[0].frame.own), "train.py(5): train");
}

TEST(SourceLines, without_stacks_nothing_is_said) {
  const Analysis analysis = testing_support::of(testing_support::stepped(8, [](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) scene.launch("some_kernel", 200'000);
    scene.synchronize();
    scene.idle_host(400'000);
  }));
  for (const Finding& finding : analysis.findings) {
    for (const Fact& fact : finding.evidence) EXPECT_NE(fact.id, "source_line");
  }
  for (const AnalysisTable& table : analysis.tables) EXPECT_NE(table.id, "source_lines");
}

}  // namespace
}  // namespace warpmark::analyze
