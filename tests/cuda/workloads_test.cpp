// Every implementation computes what it says, on random inputs, and its check finds what is wrong.
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "cuda/gpu.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/feeding/loading.h"

namespace warpmark::cuda_tests {
namespace {

class CudaWorkload : public Gpu {
 protected:
  Result<std::unique_ptr<measure::Prepared>> prepare(const char* id, const Params& params, std::size_t sets = 2) {
    return implementation(id).prepare({*device_, params, sets, 42});
  }

  /// Poisons, launches every set through a timed sequence and checks each.
  void expect_right(const char* id, const Params& params) {
    SCOPED_TRACE(std::string(id) + " " + to_text(params));
    const device::Support support = implementation(id).supports(device_->info(), params);
    if (!support.available) {
      fmt::print("  not on this GPU: {}: {}\n", to_text(params), support.reason);
      return;
    }
    constexpr std::size_t kSets = 2;
    auto prepared = prepare(id, params, kSets);
    ASSERT_TRUE(prepared.ok()) << prepared.error().what;
    auto sequence = device_->sequence(
        **prepared, {.mode = Mode::cold, .launches = kSets, .sets = kSets, .host_clock = (*prepared)->host_clock()});
    ASSERT_TRUE(sequence.ok()) << sequence.error().what;
    ASSERT_TRUE((*prepared)->poison().ok());
    const auto unwritten = (*prepared)->check(0);
    ASSERT_TRUE(unwritten.ok()) << unwritten.error().what;
    if (std::string(id) != "launch") {
      EXPECT_GT(unwritten->value, unwritten->tolerance) << "poisoned outputs pass";
    }
    const auto seconds = (*sequence)->time(0);
    ASSERT_TRUE(seconds.ok()) << seconds.error().what;
    for (std::size_t set = 0; set < kSets; ++set) {
      const auto check = (*prepared)->check(set);
      ASSERT_TRUE(check.ok()) << check.error().what;
      EXPECT_LE(check->value, check->tolerance) << check->norm << ", set " << set;
      fmt::print("  {} {}: set {} error {:.3g} of {:.3g}\n", id, to_text(params), set, check->value, check->tolerance);
    }
    for (const auto& [name, text] : (*prepared)->notes()) fmt::print("    {}: {}\n", name, text);
  }
};

Params gemm_params(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return params_of(
      {{"m", m}, {"n", n}, {"k", k}, {"dtype", dtype}, {"impl", std::string("auto")}, {"candidates", std::int64_t{8}}});
}

TEST_F(CudaWorkload, memory_operations_are_exact_at_every_size) {
  for (const char* id : {"copy", "triad", "read", "write"}) {
    for (const std::int64_t size :
         {4LL, 4096LL, 4100LL, 16384LL, 65540LL, (1LL << 20) + 12, 64LL << 20, (128LL << 20) + 4}) {
      expect_right(id, params_of({{"size", size}}));
    }
  }
}

TEST_F(CudaWorkload, embeddings_add_rows_up_in_every_width) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const std::int64_t dim : {1LL, 4LL, 7LL, 8LL, 64LL, 128LL, 1000LL}) {
      for (const std::int64_t lookups : {1LL, 4LL, 26LL}) {
        expect_right("embedding", params_of({{"rows", std::int64_t{5000}},
                                             {"dim", dim},
                                             {"bags", std::int64_t{77}},
                                             {"lookups", lookups},
                                             {"skew", 1.05},
                                             {"dtype", std::string(dtype)}}));
      }
    }
  }
}

TEST_F(CudaWorkload, batches_arrive_whole_from_either_memory) {
  for (const char* memory : {"pageable", "pinned"}) {
    const Params params = params_of({{"memory", std::string(memory)}});
    auto prepared = prepare("loader", params, 1);
    ASSERT_TRUE(prepared.ok()) << prepared.error().what;
    auto& copies = static_cast<workloads::BatchCopies&>(**prepared);
    ASSERT_TRUE(copies.allocate(3, 1'000'003).ok());
    ASSERT_TRUE(copies.poison().ok());
    for (std::size_t slot = 0; slot < 3; ++slot) {
      for (std::size_t i = 0; i < copies.slot(slot).size(); ++i) copies.slot(slot)[i] = std::byte(i * 31 + slot);
      EXPECT_GT(copies.check(slot)->value, 0) << "what was never copied passes";
      ASSERT_TRUE(copies.launch({}, slot).ok());
    }
    for (std::size_t slot = 0; slot < 3; ++slot) {
      const auto seconds = copies.wait(slot);
      ASSERT_TRUE(seconds.ok()) << seconds.error().what;
      EXPECT_GT(*seconds, 0);
      EXPECT_EQ(copies.check(slot)->value, 0) << memory;
    }
  }
}

Params cached_params(const char* dtype, std::int64_t dim, std::int64_t lookups, double cache) {
  return params_of({{"tables", std::int64_t{3}},
                    {"rows", std::int64_t{2000}},
                    {"dim", dim},
                    {"bags", std::int64_t{77}},
                    {"lookups", lookups},
                    {"batches", std::int64_t{2}},
                    {"dtype", std::string(dtype)},
                    {"cache", cache}});
}

TEST_F(CudaWorkload, cached_lookups_add_up_rows_of_both_memories) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const std::int64_t dim : {1LL, 7LL, 8LL, 128LL}) {
      for (const std::int64_t lookups : {1LL, 5LL}) {
        const Params params = cached_params(dtype, dim, lookups, 0.1);
        SCOPED_TRACE(to_text(params));
        auto prepared = prepare("embedding_cache", params, 1);
        ASSERT_TRUE(prepared.ok()) << prepared.error().what;
        auto& cached = static_cast<workloads::CachedLookups&>(**prepared);
        const auto shape = workloads::cached_shape(params);
        for (std::size_t batch = 0; batch < 2; ++batch) {
          std::vector<std::int32_t> numbers(shape.numbers());
          for (std::size_t i = 0; i < numbers.size(); ++i) {
            numbers[i] = static_cast<std::int32_t>((i * 7919 + batch * 13) % shape.all_rows());
          }
          ASSERT_TRUE(cached.take_batch(numbers).ok());
        }
        workloads::RowCache cache(shape.all_rows(), shape.held());
        std::vector<std::uint32_t> counted(shape.all_rows(), 0);
        for (std::size_t choice = 0; choice < 3; ++choice) {  // nothing is held, some rows, other rows
          for (std::size_t batch = 0; batch < 2; ++batch) {
            ASSERT_TRUE(cached.poison().ok());
            EXPECT_GT(cached.check(batch)->value, 1e-5) << "poisoned outputs pass";
            ASSERT_TRUE(cached.launch(device_->stream(), batch).ok());
            const auto check = cached.check(batch);
            ASSERT_TRUE(check.ok()) << check.error().what;
            EXPECT_LE(check->value, check->tolerance) << "choice " << choice;
            // What was counted last is held: batch 0, then batch 1.
            const auto hits = *cached.hits(batch);
            EXPECT_TRUE(choice > 0 || hits == 0) << hits;
            EXPECT_TRUE(choice != batch + 1 || hits > 0) << "choice " << choice;
          }
          ASSERT_TRUE(cached.count(choice % 2).ok());
          const auto taken = cached.take_counts();
          ASSERT_TRUE(taken.ok()) << taken.error().what;
          EXPECT_EQ(std::accumulate(taken->begin(), taken->end(), std::size_t{0}), shape.numbers());
          ASSERT_TRUE(cached.hold(cache.choose(*taken)).ok());
        }
      }
    }
  }
}

TEST_F(CudaWorkload, memory_operations_refuse_a_part_of_an_element) {
  const auto prepared = prepare("copy", params_of({{"size", std::int64_t{4097}}}));
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::usage);
}

TEST_F(CudaWorkload, too_little_memory_is_an_error_that_names_the_bytes) {
  const std::int64_t size = device_->info().memory_bytes / 4 * 4;
  const auto prepared = prepare("copy", params_of({{"size", size}}));
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::environment);
  EXPECT_NE(prepared.error().what.find("needed"), std::string::npos) << prepared.error().what;
  EXPECT_NE(prepared.error().what.find("free"), std::string::npos) << prepared.error().what;
}

TEST_F(CudaWorkload, transfers_deliver_every_byte) {
  for (const char* direction : {"h2d", "d2h", "both", "d2d"}) {
    for (const char* memory : {"pinned", "pageable"}) {
      for (const std::int64_t size : {1LL, 4099LL, 16LL << 20}) {
        expect_right(
            "transfer",
            params_of({{"size", size}, {"direction", std::string(direction)}, {"memory", std::string(memory)}}));
      }
    }
  }
}

TEST_F(CudaWorkload, launches_of_every_kind_run) {
  for (const char* kind : {"kernel", "rate", "event", "graph"}) {
    expect_right("launch", params_of({{"kind", std::string(kind)}}));
  }
  const device::Support support =
      implementation("launch").supports(device_->info(), params_of({{"kind", std::string("wakeup")}}));
  EXPECT_FALSE(support.available);
}

TEST_F(CudaWorkload, gemm_is_right_in_every_type) {
  for (const char* dtype : {"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8"}) {
    expect_right("gemm", gemm_params(dtype, 256, 512, 384));
    expect_right("gemm", gemm_params(dtype, 1024, 1024, 1024));
  }
}

TEST_F(CudaWorkload, gemm_is_right_for_odd_shapes) {
  for (const char* dtype : {"f64", "f32", "tf32", "f16", "bf16"}) {
    expect_right("gemm", gemm_params(dtype, 1, 1, 1));
    expect_right("gemm", gemm_params(dtype, 129, 65, 257));
  }
  expect_right("gemm", gemm_params("int8", 64, 36, 4));
}

TEST_F(CudaWorkload, gemm_is_checked_by_rows_and_projections_when_it_is_large) {
  for (const char* dtype : {"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8"}) {
    expect_right("gemm", gemm_params(dtype, 4096, 2048, 3072));
  }
}

TEST_F(CudaWorkload, gemm_says_why_it_does_not_take_a_cpu_library_or_a_shape) {
  Params params = gemm_params("f32", 64, 64, 64);
  params.set("impl", std::string("openblas"));
  const device::Support cpu_only = implementation("gemm").supports(device_->info(), params);
  EXPECT_FALSE(cpu_only.available);
  EXPECT_NE(cpu_only.reason.find("openblas"), std::string::npos);
  const device::Support odd = implementation("gemm").supports(device_->info(), gemm_params("int8", 64, 63, 64));
  EXPECT_FALSE(odd.available);
  EXPECT_NE(odd.reason.find("63"), std::string::npos) << odd.reason;
}

}  // namespace
}  // namespace warpmark::cuda_tests
