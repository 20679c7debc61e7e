// Checks and times the fused attention kernels outside warpmark: the launchers that ship, and variants of the Hopper
// kernel's shape. Build and run:
//   nvcc -std=c++20 -O3 -Isrc --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a
//   bench/gpu/attention_variants.cu
//     src/workloads/module/attention/{flash_portable,flash_hopper,flash_f32,softmax,reference}.cu -o attention_variants
//   ./attention_variants check | time
#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "workloads/module/attention/flash_hopper.cuh"
#include "workloads/module/attention/flash_portable.cuh"
#include "workloads/module/attention/kernels.h"

using namespace warpmark::workloads;

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t error = (call);                                                      \
    if (error != cudaSuccess) {                                                            \
      std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)

namespace {

__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

template <typename T>
__global__ void fill_normal(T* to, std::size_t count, std::uint64_t seed) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::uint64_t bits = mix(seed ^ mix(i));
  const float u = (static_cast<float>(bits >> 40) + 0.5F) * 0x1p-24F;
  const float v = static_cast<float>(bits & 0xFFFFFF) * 0x1p-24F;
  to[i] = static_cast<T>(sqrtf(-2 * logf(u)) * cospif(2 * v));
}

template <typename T>
__global__ void compare(const T* out, const double* reference, std::size_t count, double* sums) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double difference = static_cast<double>(static_cast<float>(out[i])) - reference[i];
  atomicAdd(sums, difference * difference);
  atomicAdd(sums + 1, reference[i] * reference[i]);
}

struct Problem {
  AttentionType type = AttentionType::f16;
  int matrices = 128, sequence = 4096, dimension = 64;
  bool causal = false;
  std::size_t element_bytes() const { return type == AttentionType::f32 ? 4 : 2; }
  std::size_t elements() const { return static_cast<std::size_t>(matrices) * sequence * dimension; }
  double flops() const { return 4.0 * matrices * sequence * sequence * dimension * (causal ? 0.5 : 1.0); }
};

struct Set {
  void *query, *key, *value, *output;
};

void fill(const Problem& p, void* to, std::uint64_t seed) {
  const unsigned blocks = static_cast<unsigned>((p.elements() + 255) / 256);
  if (p.type == AttentionType::f32) fill_normal<<<blocks, 256>>>(static_cast<float*>(to), p.elements(), seed);
  if (p.type == AttentionType::f16) fill_normal<<<blocks, 256>>>(static_cast<__half*>(to), p.elements(), seed);
  if (p.type == AttentionType::bf16) fill_normal<<<blocks, 256>>>(static_cast<__nv_bfloat16*>(to), p.elements(), seed);
}

std::vector<Set> make_sets(const Problem& p, int count) {
  std::vector<Set> sets(static_cast<std::size_t>(count));
  std::uint64_t seed = 1;
  for (Set& set : sets) {
    for (void** tensor : {&set.query, &set.key, &set.value, &set.output}) {
      CHECK(cudaMalloc(tensor, p.elements() * p.element_bytes()));
      fill(p, *tensor, seed++);
    }
  }
  CHECK(cudaDeviceSynchronize());
  return sets;
}
void free_sets(std::vector<Set>& sets) {
  for (Set& set : sets) {
    for (void* tensor : {set.query, set.key, set.value, set.output}) CHECK(cudaFree(tensor));
  }
}

AttentionArguments arguments_of(const Problem& p, const Set& set) {
  return {set.query,  set.key,    set.value,
          set.output, p.sequence, p.dimension,
          p.matrices, p.causal,   1.44269504F / std::sqrt(static_cast<float>(p.dimension))};
}

CUtensorMap tensor_map(const Problem& p, void* data, int rows) {
  static decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  if (encode == nullptr) {
    cudaDriverEntryPointQueryResult found{};
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&encode), 12000,
                                           cudaEnableDefault, &found));
  }
  const cuuint64_t d = static_cast<cuuint64_t>(p.dimension), s = static_cast<cuuint64_t>(p.sequence);
  const cuuint64_t sizes[3] = {d, s, static_cast<cuuint64_t>(p.matrices)}, strides[2] = {d * 2, d * s * 2};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(rows), 1}, steps[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, p.type == AttentionType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
             data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) std::printf("tensor map error %d\n", static_cast<int>(result)), std::exit(1);
  return map;
}

HopperMaps maps_of(const Problem& p, const Set& set, HopperBoxes boxes) {
  return {tensor_map(p, set.query, boxes.query_rows), tensor_map(p, set.key, boxes.key_rows),
          tensor_map(p, set.value, boxes.key_rows)};
}

int multiprocessors() {
  int count = 0;
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

/// Something that can be launched on a set.
struct Launcher {
  virtual ~Launcher() = default;
  virtual void launch(std::size_t set) = 0;
};

template <typename Function>
struct Simple final : Launcher {
  Function function;
  const Problem& p;
  const std::vector<Set>& sets;
  Simple(Function f, const Problem& problem, const std::vector<Set>& s) : function(f), p(problem), sets(s) {}
  void launch(std::size_t set) override { CHECK(function(arguments_of(p, sets[set]))); }
};

struct ShippedHopper final : Launcher {
  const Problem& p;
  std::vector<AttentionArguments> arguments;
  std::vector<HopperMaps> maps;
  int sms = multiprocessors();
  ShippedHopper(const Problem& problem, const std::vector<Set>& sets) : p(problem) {
    for (const Set& set : sets) {
      arguments.push_back(arguments_of(p, set));
      maps.push_back(maps_of(p, set, flash_hopper_boxes(p.dimension, p.causal)));
    }
  }
  void launch(std::size_t set) override { CHECK(launch_flash_hopper(p.type, arguments[set], maps[set], sms, nullptr)); }
};

template <typename Shape>
struct Variant final : Launcher {
  std::vector<hopper::FlashArguments> arguments;
  std::vector<HopperMaps> maps;
  int blocks;
  Variant(const Problem& p, const std::vector<Set>& sets, bool persistent) {
    for (const Set& set : sets) {
      arguments.push_back({.output = set.output,
                           .sequence = p.sequence,
                           .matrices = p.matrices,
                           .row_tiles = (p.sequence + Shape::rows - 1) / Shape::rows,
                           .group = hopper::group_size<Shape>(p.sequence),
                           .scale_log2 = arguments_of(p, set).scale_log2});
      maps.push_back(maps_of(p, set, {Shape::rows, Shape::keys}));
    }
    blocks = arguments[0].matrices * arguments[0].row_tiles;
    if (persistent) blocks = std::min(blocks, multiprocessors());
    CHECK(cudaFuncSetAttribute(hopper::flash_hopper<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sizeof(hopper::FlashStorage<Shape>)));
  }
  void launch(std::size_t set) override {
    hopper::flash_hopper<Shape><<<blocks, Shape::threads, sizeof(hopper::FlashStorage<Shape>)>>>(
        maps[set].query, maps[set].key, maps[set].value, arguments[set]);
    CHECK(cudaGetLastError());
  }
};

double error_of(const Problem& p, const Set& set, Launcher& launcher) {
  CHECK(cudaMemset(set.output, 0xFF, p.elements() * p.element_bytes()));
  launcher.launch(0);
  CHECK(cudaDeviceSynchronize());
  const std::size_t each = static_cast<std::size_t>(p.sequence) * p.dimension;
  double *reference, *scratch, *sums;
  CHECK(cudaMalloc(&reference, each * 8));
  CHECK(cudaMalloc(&scratch, static_cast<std::size_t>(std::min(p.sequence, kReferenceBlocks)) * p.sequence * 8));
  CHECK(cudaMallocManaged(&sums, 16));
  sums[0] = sums[1] = 0;
  const int step = std::max(1, p.matrices / 4);
  for (int m = 0; m < p.matrices; m += step) {
    const std::size_t offset = static_cast<std::size_t>(m) * each * p.element_bytes();
    const auto at = [&](void* data) { return static_cast<char*>(data) + offset; };
    CHECK(launch_attention_reference(
        p.type, {at(set.query), at(set.key), at(set.value), reference, scratch, p.sequence, p.dimension, p.causal},
        nullptr));
    const unsigned blocks = static_cast<unsigned>((each + 255) / 256);
    if (p.type == AttentionType::f32)
      compare<<<blocks, 256>>>(reinterpret_cast<float*>(at(set.output)), reference, each, sums);
    if (p.type == AttentionType::f16)
      compare<<<blocks, 256>>>(reinterpret_cast<__half*>(at(set.output)), reference, each, sums);
    if (p.type == AttentionType::bf16)
      compare<<<blocks, 256>>>(reinterpret_cast<__nv_bfloat16*>(at(set.output)), reference, each, sums);
  }
  CHECK(cudaDeviceSynchronize());
  const double error = std::sqrt(sums[0] / sums[1]);
  CHECK(cudaFree(reference));
  CHECK(cudaFree(scratch));
  CHECK(cudaFree(sums));
  return error;
}

double median_ms(std::size_t sets, Launcher& launcher, double expected_ms) {
  const int per_sample = std::clamp(static_cast<int>(10.0 / expected_ms), 4, 40);
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<float> samples;
  std::size_t set = 0;
  for (int i = 0; i < 3 * per_sample; ++i) launcher.launch(set++ % sets);
  for (int sample = 0; sample < 15; ++sample) {
    CHECK(cudaEventRecord(start));
    for (int i = 0; i < per_sample; ++i) launcher.launch(set++ % sets);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    samples.push_back(ms / static_cast<float>(per_sample));
  }
  std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
  return samples[7];
}

void report(const char* name, const Problem& p, const std::vector<Set>& sets, Launcher& launcher, double expected_ms) {
  const double error = error_of(p, sets[0], launcher);
  const double ms = median_ms(sets.size(), launcher, expected_ms);
  std::printf("%-28s S=%5d d=%3d %-6s error %.2e  %8.4f ms  %6.1f TFLOP/s\n", name, p.sequence, p.dimension,
              p.causal ? "causal" : "full", error, ms, p.flops() / ms * 1e-9);
  std::fflush(stdout);
}

template <typename Function>
void report_simple(const char* name, const Problem& p, const std::vector<Set>& sets, Function function, double ms) {
  Simple<Function> launcher(function, p, sets);
  report(name, p, sets, launcher, ms);
}

template <typename Shape>
void variant(const char* name, const Problem& p, const std::vector<Set>& sets, bool persistent, double expected_ms) {
  Variant<Shape> launcher(p, sets, persistent);
  report(name, p, sets, launcher, expected_ms);
}

template <typename Shape>
void portable_variant(const char* name, const Problem& p, const std::vector<Set>& sets, double expected_ms) {
  CHECK(cudaFuncSetAttribute(portable::flash_portable<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             Shape::shared_bytes));
  const int blocks = p.matrices * ((p.sequence + Shape::rows - 1) / Shape::rows);
  report_simple(
      name, p, sets,
      [&](const AttentionArguments& a) {
        portable::flash_portable<Shape><<<blocks, Shape::threads, Shape::shared_bytes>>>(a);
        return cudaGetLastError();
      },
      expected_ms);
}

template <bool kCausal>
void variants_64(const Problem& p, const std::vector<Set>& sets, double ms) {
  portable_variant<portable::FlashShape<__half, 64, 8, 1, 64, kCausal>>("portable 8x1x64", p, sets, ms);
  portable_variant<portable::FlashShape<__half, 64, 4, 2, 32, kCausal>>("portable 4x2x32", p, sets, ms);
  variant<hopper::FlashShape<__half, 64, 3, 128, 2, kCausal>>("hopper persistent", p, sets, true, ms);
  variant<hopper::FlashShape<__half, 64, 3, 128, 2, kCausal>>("hopper a block a tile", p, sets, false, ms);
  variant<hopper::FlashShape<__half, 64, 3, 128, 3, kCausal>>("hopper 3 stages", p, sets, !kCausal, ms);
}

template <bool kCausal>
void variants_128(const Problem& p, const std::vector<Set>& sets, double ms) {
  portable_variant<portable::FlashShape<__half, 128, 4, 2, 32, kCausal>>("portable 4x2x32", p, sets, ms);
  portable_variant<portable::FlashShape<__half, 128, 4, 1, 64, kCausal>>("portable 4x1x64", p, sets, ms);
  variant<hopper::FlashShape<__half, 128, 2, 128, 2, kCausal>>("hopper persistent", p, sets, true, ms);
  variant<hopper::FlashShape<__half, 128, 2, 128, 2, kCausal>>("hopper a block a tile", p, sets, false, ms);
}

void time_shape(Problem p, int set_count, double ms) {
  auto sets = make_sets(p, set_count);
  report_simple(
      "portable", p, sets, [&](const AttentionArguments& a) { return launch_flash_portable(p.type, a, nullptr); }, ms);
  {
    ShippedHopper shipped(p, sets);
    report("shipped hopper", p, sets, shipped, ms);
  }
  if (p.dimension == 64)
    p.causal ? variants_64<true>(p, sets, ms) : variants_64<false>(p, sets, ms);
  else
    p.causal ? variants_128<true>(p, sets, ms) : variants_128<false>(p, sets, ms);
  free_sets(sets);
}

int check_all() {
  int failures = 0, checks = 0;
  for (const AttentionType type : {AttentionType::f16, AttentionType::bf16, AttentionType::f32}) {
    for (const int dimension : {64, 128}) {
      for (const bool causal : {false, true}) {
        for (const int sequence : {1, 2, 17, 63, 64, 65, 100, 128, 129, 191, 192, 193, 255, 384, 1000, 1024, 2049}) {
          Problem p{type, 6, sequence, dimension, causal};
          auto sets = make_sets(p, 1);
          const double tolerance = type == AttentionType::f32 ? 1e-5 : type == AttentionType::f16 ? 2e-3 : 1.6e-2;
          const auto verify = [&](const char* name, Launcher& launcher) {
            const double error = error_of(p, sets[0], launcher);
            ++checks;
            if (!(error <= tolerance)) {
              ++failures;
              std::printf("WRONG %s type %d S=%d d=%d causal=%d error %.3e\n", name, static_cast<int>(type), sequence,
                          dimension, causal, error);
            }
          };
          if (type == AttentionType::f32) {
            const auto f = [](const AttentionArguments& a) { return launch_flash_f32(a, nullptr); };
            Simple<decltype(f)> launcher(f, p, sets);
            verify("f32", launcher);
          } else {
            const auto f = [&](const AttentionArguments& a) { return launch_flash_portable(type, a, nullptr); };
            Simple<decltype(f)> launcher(f, p, sets);
            verify("portable", launcher);
            ShippedHopper shipped(p, sets);
            verify("hopper", shipped);
          }
          free_sets(sets);
        }
      }
    }
  }
  std::printf("%d checks, %d wrong\n", checks, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") return check_all();
  time_shape({AttentionType::f16, 128, 4096, 64, false}, 2, 1.6);
  time_shape({AttentionType::f16, 128, 1024, 64, false}, 4, 0.13);
  time_shape({AttentionType::f16, 128, 512, 64, false}, 6, 0.03);
  time_shape({AttentionType::f16, 128, 4096, 64, true}, 2, 0.9);
  time_shape({AttentionType::f16, 128, 1024, 64, true}, 4, 0.07);
  time_shape({AttentionType::f16, 128, 4096, 128, false}, 1, 3.2);
  time_shape({AttentionType::f16, 128, 4096, 128, true}, 1, 1.8);
  Problem f32{AttentionType::f32, 128, 1024, 64, false};
  auto sets = make_sets(f32, 2);
  report_simple(
      "f32", f32, sets, [](const AttentionArguments& a) { return launch_flash_f32(a, nullptr); }, 3);
  return 0;
}
