// What a finding tells to do fits the program: its framework, the direction of its copies, what it does and does not.
#include "analyze/recommendations/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::find;
using testing_support::of;
using testing_support::TimelineScene;

constexpr const char* kKernel = "void integrate<double, 4>(double4*, double4 const*, int)";
constexpr const char* kProduct = "ampere_sgemm_128x64_nn";

/// Six steps, named as a program without a framework names them; `more` may add what a framework leaves.
template <typename Body, typename More>
Analysis program(Body body, More more) {
  TimelineScene scene;
  for (int i = 0; i < 6; ++i) {
    scene.within("iteration " + std::to_string(i), EventKind::annotation, [&] { body(scene); });
  }
  scene.synchronize();
  more(scene);
  return of(scene.build());
}
template <typename Body>
Analysis program(Body body) {
  return program(body, [](TimelineScene&) {});
}

struct Case {
  const char* rule;
  void (*body)(TimelineScene&);
};

void many_short(TimelineScene& scene) {
  for (int i = 0; i < 100; ++i) scene.idle_host(20'000), scene.launch(kKernel, 4'000);
}

const Case kCases[] = {
    {"launch_overhead", many_short},
    {"cpu_gpu_sync",
     [](TimelineScene& scene) {
       for (int i = 0; i < 20; ++i) scene.launch(kKernel, 100'000), scene.synchronize(), scene.idle_host(60'000);
     }},
    {"host_transfer",
     [](TimelineScene& scene) {
       scene.copy(CopyKind::host_to_device, HostMemory::pageable, 50 << 20, 3'000'000, true);
       for (int i = 0; i < 10; ++i) scene.launch(kKernel, 100'000);
     }},
    {"data_loading",
     [](TimelineScene& scene) {
       scene.range("load_batch", 4'000'000);
       for (int i = 0; i < 10; ++i) scene.launch(kKernel, 100'000);
     }},
    {"memory_allocation",
     [](TimelineScene& scene) {
       for (int i = 0; i < 10; ++i) scene.api("cudaMalloc", 200'000), scene.launch(kKernel, 50'000);
     }},
    {"precision",
     [](TimelineScene& scene) {
       for (int i = 0; i < 20; ++i) scene.launch(kProduct, 100'000);
     }},
    {"attention",
     [](TimelineScene& scene) {
       for (int layer = 0; layer < 8; ++layer) {
         scene.launch("my_gemm_bf16", 50'000);
         scene.launch("scale_elementwise", 100'000);
         scene.launch("row_softmax", 150'000);
         scene.launch("my_gemm_bf16", 50'000);
       }
     }},
    {"memory_bandwidth",
     [](TimelineScene& scene) {
       scene.launch("my_gemm_bf16", 50'000);
       for (int i = 0; i < 10; ++i) scene.launch("relu_elementwise", 100'000);
     }},
    {"optimizer",
     [](TimelineScene& scene) {
       for (int i = 0; i < 10; ++i) scene.launch("my_gemm_bf16", 100'000);
       for (int i = 0; i < 300; ++i) scene.launch("adam_update", 3'000), scene.idle_host(5'000);
     }},
    {"multi_gpu_comm",
     [](TimelineScene& scene) {
       for (int i = 0; i < 10; ++i) scene.launch(kKernel, 100'000);
       scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2'000'000);
     }},
    {"gpu_underused",
     [](TimelineScene& scene) {
       for (int i = 0; i < 10; ++i) scene.launch(kKernel, 100'000, 8);
     }},
};

std::string words_of(const Analysis& analysis) {
  std::string text = analysis.verdict + "\n";
  for (const Finding& finding : analysis.findings) {
    text += finding.title + "\n";
    for (const Fact& fact : finding.evidence) text += fact.text + "\n";
    for (const Recommendation& advice : finding.recommendations) text += advice.text + "\n" + advice.snippet + "\n";
  }
  for (const MissingData& missing : analysis.missing) text += missing.what + "\n" + missing.how + "\n";
  return text;
}

TEST(Advice, of_native_programs_is_cuda) {
  for (const Case& one : kCases) {
    const Analysis analysis = program(one.body);
    const Finding* finding = find(analysis, one.rule);
    ASSERT_NE(finding, nullptr) << one.rule;
    ASSERT_FALSE(finding->recommendations.empty()) << one.rule;
    for (const Recommendation& advice : finding->recommendations) EXPECT_NE(advice.snippet, "") << advice.text;
    const std::string text = words_of(analysis);
    for (const char* foreign : {"torch", "DataLoader", "jax", "Python", "model", ".to('cuda'", "'cuda'"}) {
      EXPECT_THAT(text, Not(HasSubstr(foreign))) << one.rule;
    }
  }
}

TEST(Advice, of_jax_programs_is_neither_cuda_nor_pytorch) {
  for (const Case& one : kCases) {
    const Analysis analysis = program(one.body, [](TimelineScene& scene) {
      (void)scene.timeline().names.intern("TSL:XlaModule:#hlo_module=jit_step#");
    });
    const Finding* finding = find(analysis, one.rule);
    ASSERT_NE(finding, nullptr) << one.rule;
    ASSERT_FALSE(finding->recommendations.empty()) << one.rule;
    const std::string text = words_of(analysis);
    for (const char* foreign : {"torch", "DataLoader", "Async(", "cublas", "cudnnSet", ";\n", "'cuda'"}) {
      EXPECT_THAT(text, Not(HasSubstr(foreign))) << one.rule;
    }
  }
}

TEST(Advice, of_cupy_programs_is_python) {
  std::string all;
  for (const Case& one : kCases) {
    const Analysis analysis = program(one.body, [](TimelineScene& scene) {
      (void)scene.timeline().names.intern("cupy_multiply__float32_float_float32");
    });
    const Finding* finding = find(analysis, one.rule);
    ASSERT_NE(finding, nullptr) << one.rule;
    ASSERT_FALSE(finding->recommendations.empty()) << one.rule;
    all += words_of(analysis);
  }
  for (const char* foreign : {"torch", "DataLoader", "jax", "Async(", "cublas", "cudnnSet", ";\n"}) {
    EXPECT_THAT(all, Not(HasSubstr(foreign)));
  }
  for (const char* known : {"cupy.fuse", "begin_capture", "empty_pinned", "allow_synchronize", "CUPY_TF32"}) {
    EXPECT_THAT(all, HasSubstr(known));
  }
}

TEST(Advice, of_other_programs_has_no_code) {
  for (const Case& one : kCases) {
    const Analysis analysis =
        program(one.body, [](TimelineScene& scene) { (void)scene.timeline().names.intern("tensorflow::functor"); });
    const Finding* finding = find(analysis, one.rule);
    ASSERT_NE(finding, nullptr) << one.rule;
    ASSERT_FALSE(finding->recommendations.empty()) << one.rule;
    const std::string text = words_of(analysis);
    for (const char* foreign : {"torch", "DataLoader", "jax", "Async(", "cublas", "cudnnSet"}) {
      EXPECT_THAT(text, Not(HasSubstr(foreign))) << one.rule;
    }
  }
}

TEST(Advice, is_all_that_the_framework_changes) {
  for (const Case& one : kCases) {
    const Analysis native = program(one.body);
    const Analysis torch =
        program(one.body, [](TimelineScene& scene) { (void)scene.timeline().names.intern("aten::add"); });
    ASSERT_EQ(native.findings.size(), torch.findings.size()) << one.rule;
    for (std::size_t i = 0; i < native.findings.size(); ++i) {
      const Finding& a = native.findings[i];
      const Finding& b = torch.findings[i];
      EXPECT_EQ(a.rule, b.rule);
      EXPECT_EQ(a.kind, b.kind);
      EXPECT_EQ(a.title, b.title);
      EXPECT_EQ(a.severity, b.severity) << a.rule;
      if (a.rule == "precision") continue;  // its first fix is another one (Fixes.tf32_comes_first_...)
      EXPECT_EQ(a.gain.low, b.gain.low) << a.rule;
      EXPECT_EQ(a.gain.high, b.gain.high) << a.rule;
      EXPECT_EQ(a.gain.method, b.gain.method) << a.rule;
    }
    EXPECT_THAT(words_of(torch), Not(HasSubstr("cudaMemcpyAsync("))) << one.rule;
  }
}

TEST(Advice, of_a_graph_names_the_launches_it_replaces) {
  const Analysis analysis = program(many_short);
  const Recommendation& first = find(analysis, "launch_overhead")->recommendations.front();
  EXPECT_EQ(first.id, "cuda_graph");
  EXPECT_THAT(first.text, HasSubstr("one launch can replace 100."));
  EXPECT_THAT(first.snippet, HasSubstr("cudaStreamBeginCapture"));
}

TEST(Idle, is_not_shown_by_the_range_of_a_whole_step) {
  const Analysis analysis = of(testing_support::stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) {
      scene.idle_host(60'000);
      scene.launch(kKernel, 4'000);
    }
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  ASSERT_FALSE(finding->events.empty());
  for (const EventReference& event : finding->events) EXPECT_EQ(event.name, kKernel);
}

/// In PyTorch.
template <typename Body>
Analysis steps_of(Body body) {
  return of(testing_support::stepped(6, body));
}

std::string advice_of(const Analysis& analysis, const char* rule) {
  const Finding* finding = find(analysis, rule);
  std::string text;
  if (finding == nullptr) return text;
  for (const Recommendation& advice : finding->recommendations) text += advice.text + "\n" + advice.snippet + "\n";
  return text;
}

TEST(Advice, on_copies_follows_their_direction_and_memory) {
  const auto copying = [](CopyKind kind, HostMemory memory) {
    return advice_of(steps_of([=](TimelineScene& scene) {
                       scene.copy(kind, memory, 50 << 20, 3'000'000, true);
                       for (int i = 0; i < 10; ++i) scene.launch(testing_support::kTensorGemm, 100'000);
                     }),
                     "host_transfer");
  };
  EXPECT_THAT(copying(CopyKind::host_to_device, HostMemory::pageable), HasSubstr("pin_memory=True"));
  EXPECT_THAT(copying(CopyKind::host_to_device, HostMemory::pinned), Not(HasSubstr("Pin ")));
  const std::string back = copying(CopyKind::device_to_host, HostMemory::pageable);
  EXPECT_THAT(back, HasSubstr("Copy results into pinned memory"));
  EXPECT_THAT(back, Not(HasSubstr("DataLoader")));
}

TEST(Advice, on_double_precision_is_not_to_allow_tf32) {
  const Analysis analysis = steps_of([](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch("cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1", 900'000);
  });
  EXPECT_THAT(find(analysis, "precision")->title, HasSubstr("in double precision"));
  const std::string text = advice_of(analysis, "precision");
  EXPECT_THAT(text, HasSubstr("model.float()"));
  EXPECT_THAT(text, Not(HasSubstr("At least allow TF32")));
  EXPECT_THAT(text, Not(HasSubstr("channels_last")));
}

TEST(Advice, on_convolutions_is_given_where_there_are_some) {
  const auto of_kernel = [](const char* kernel) {
    return advice_of(steps_of([kernel](TimelineScene& scene) {
                       for (int i = 0; i < 20; ++i) scene.launch(kernel, 100'000);
                     }),
                     "precision");
  };
  EXPECT_THAT(of_kernel("implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3>"), HasSubstr("channels_last"));
  EXPECT_THAT(of_kernel(kProduct), Not(HasSubstr("channels_last")));
}

TEST(Advice, on_gathers_names_no_chains_where_there_are_none) {
  const Analysis analysis = steps_of([](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) {
      scene.launch("void at::native::vectorized_gather_kernel<16, long>", 1'200'000);
      scene.launch("void at::native::reduce_kernel<512, 1>", 400'000);
    }
  });
  EXPECT_THAT(advice_of(analysis, "memory_bandwidth"), Not(HasSubstr("chains")));
  for (const Fact& fact : find(analysis, "memory_bandwidth")->evidence) EXPECT_NE(fact.id, "elementwise_chains");
}

TEST(Advice, to_programs_that_do_not_train_names_no_loss) {
  const Analysis analysis = steps_of([](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) {
      scene.launch(testing_support::kTensorGemm, 20'000, 8);
      scene.synchronize();
      scene.idle_host(60'000);
    }
  });
  const std::string text = words_of(analysis);
  EXPECT_THAT(text, HasSubstr("batch_size"));
  for (const char* foreign : {"loss", "learning rate", "AdamW"}) EXPECT_THAT(text, Not(HasSubstr(foreign)));
}

TEST(Advice, to_programs_that_train_is_so_where_only_kernels_tell_it) {
  const Analysis analysis = of(testing_support::stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 20; ++i) scene.launch(testing_support::kTensorGemm, 20'000, 8);
    scene.launch("multi_tensor_apply_kernel<TensorListMetadata<4>>", 20'000);
  }));
  EXPECT_THAT(words_of(analysis), HasSubstr("learning rate"));
}

TEST(Advice, on_fused_optimizers_is_not_to_fuse_them) {
  const Analysis analysis = steps_of([](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) scene.launch(testing_support::kTensorGemm, 50'000);
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
      scene.idle_host(800'000);
      scene.launch("multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor>", 60'000);
    });
  });
  ASSERT_NE(find(analysis, "optimizer"), nullptr);
  EXPECT_THAT(find(analysis, "optimizer")->title, HasSubstr("in 1 kernel"));
  const std::string text = advice_of(analysis, "optimizer");
  EXPECT_THAT(text, HasSubstr("already fused"));
  EXPECT_THAT(text, Not(HasSubstr("foreach")));
}

TEST(Advice, on_optimizers_names_the_one_that_was_recorded) {
  const auto updating = [](const char* range) {
    return advice_of(steps_of([range](TimelineScene& scene) {
                       for (int i = 0; i < 10; ++i) scene.launch(testing_support::kTensorGemm, 100'000);
                       scene.within(range, EventKind::annotation, [&] {
                         for (int i = 0; i < 300; ++i) scene.launch("at::native::add", 3'000), scene.idle_host(5'000);
                       });
                     }),
                     "optimizer");
  };
  EXPECT_THAT(updating("Optimizer.step#Adam.step"),
              HasSubstr("torch.optim.Adam(model.parameters(), lr=lr, fused=True)"));
  const std::string without = updating("Optimizer.step#RMSprop.step");
  EXPECT_THAT(without, HasSubstr("torch.optim.RMSprop(model.parameters(), lr=lr, foreach=True)"));
  EXPECT_THAT(without, Not(HasSubstr("fused=True")));
}

TEST(Advice, on_fused_optimizers_is_on_what_surrounds_them) {
  const Analysis analysis = steps_of([](TimelineScene& scene) {
    for (int i = 0; i < 5; ++i) scene.launch(testing_support::kTensorGemm, 50'000);
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
      for (int i = 0; i < 100; ++i) scene.launch("at::native::mul", 2'000), scene.idle_host(5'000);
      scene.launch("multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor>", 900'000);
    });
  });
  EXPECT_THAT(advice_of(analysis, "optimizer"), HasSubstr("lists of parameters at once"));
}

TEST(Advice, to_compiled_programs_is_not_to_compile_them) {
  const auto chains = [](const char* kernel) {
    return words_of(steps_of([kernel](TimelineScene& scene) {
      scene.launch(testing_support::kTensorGemm, 50'000);
      for (int i = 0; i < 10; ++i) scene.launch(kernel, 100'000);
      for (int i = 0; i < 100; ++i) scene.idle_host(20'000), scene.launch(testing_support::kTensorGemm, 4'000);
    }));
  };
  EXPECT_THAT(chains("void at::native::vectorized_elementwise_kernel<4>"), HasSubstr("torch.compile(model)\n"));
  const std::string compiled = chains("triton_poi_fused_add_relu_0");
  EXPECT_THAT(compiled, HasSubstr("fullgraph=True"));
  EXPECT_THAT(compiled, Not(HasSubstr("torch.compile(model)\n")));
}

TEST(Advice, on_kernels_of_libraries_is_not_to_rewrite_them) {
  const auto occupied = [](const char* name) {
    ProfileSession session;
    KernelProfile profile;
    profile.name = name;
    profile.metrics.add("gpu__time_duration.sum", "ns", 1'000'000);
    profile.metrics.add("sm__warps_active.avg.pct_of_peak_sustained_active", "%", 20);
    profile.metrics.add("sm__maximum_warps_per_active_cycle_pct", "%", 50);
    session.kernels.push_back(std::move(profile));
    return words_of(analyze(session));
  };
  EXPECT_THAT(occupied("saxpy(int, float*)"), HasSubstr("__launch_bounds__"));
  EXPECT_THAT(occupied("ampere_sgemm_128x64_nn cublasLt::kernel"), Not(HasSubstr("__launch_bounds__")));
  EXPECT_THAT(occupied("ampere_sgemm_128x64_nn cublasLt::kernel"), HasSubstr("cublasLtMatmulAlgoGetHeuristic"));
  EXPECT_THAT(occupied("void at::native::reduce_kernel<512, 1>"), HasSubstr("max-autotune"));
}

TEST(Advice, on_loading_tells_workers_from_their_absence) {
  const auto loading = [](const char* name, bool in_process) {
    return advice_of(steps_of([=](TimelineScene& scene) {
                       scene.within(name, EventKind::annotation, [&] {
                         if (in_process)
                           scene.within("aten::stack", EventKind::op, [&] { scene.idle_host(1'000'000); });
                         scene.idle_host(3'000'000);
                       });
                       for (int i = 0; i < 10; ++i) scene.launch(testing_support::kTensorGemm, 100'000);
                     }),
                     "data_loading");
  };
  EXPECT_THAT(loading("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", true),
              HasSubstr("Load batches in worker processes"));
  EXPECT_THAT(loading("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", false),
              HasSubstr("do not keep up"));
}

}  // namespace
}  // namespace warpmark::analyze
