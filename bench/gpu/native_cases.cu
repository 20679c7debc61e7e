// Programs in CUDA C++ with cuBLAS, each with one plain flaw and its usual remedy, by somebody who did not know the
// analysis: solvers, simulations, picture filters, clustering, pricing and small networks. Two of them are healthy.
//   nvcc -std=c++20 -O3 -arch=sm_90 -o native_cases bench/gpu/native_cases.cu -lcublas
//   native_cases list | native_cases run NAME broken|fixed SECONDS
#include <algorithm>
#include <chrono>
#include <string_view>

#include "native_device.cuh"
#include "native_nets.cuh"
#include "native_particles.cuh"
#include "native_pictures.cuh"
#include "native_solvers.cuh"

namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"cg_poisson",
       "conjugate gradients on a 1536x1536 Poisson problem",
       "cpu_gpu_sync",
       {"cpu_gpu_sync"},
       "every dot product returns its value to the host",
       "dot products and scalars stay on the GPU",
       made<ConjugateGradients>},
      {"fdtd_waves",
       "FDTD of Maxwell's equations in 2D, 1024x1024",
       "cpu_gpu_sync",
       {"cpu_gpu_sync"},
       "cudaDeviceSynchronize after each kernel",
       "no synchronization between kernels",
       made<Waves>},
      {"multigrid_pressure",
       "multigrid V-cycles on a 256x256 grid",
       "launch_overhead",
       {"launch_overhead"},
       "a thousand tiny kernels launched one by one",
       "the cycles captured as a CUDA graph",
       made<Multigrid>},
      {"lbm_cavity", "lattice Boltzmann D2Q9, 4096x4096", "none", {}, "none", "none", made<LatticeBoltzmann>},
      {"nbody_cluster",
       "gravitational n-body, 65536 bodies",
       "precision",
       {"precision"},
       "a literal without f makes the inner loop FP64",
       "FP32 literal and rsqrtf",
       made<Bodies>},
      {"plasma_push",
       "particle push of a plasma code, 64M particles",
       "memory_bandwidth",
       {"memory_bandwidth"},
       "records of 96 bytes of which a kernel uses a few fields",
       "one array per field",
       made<Plasma>},
      {"colour_grade",
       "colour grading of eight 4K frames",
       "memory_bandwidth",
       {"memory_bandwidth"},
       "each adjustment in its own kernel over all pixels",
       "the adjustments in one kernel",
       made<ColourGrade>},
      {"edge_frames",
       "edge detection in 4K frames",
       "memory_allocation",
       {"memory_allocation"},
       "cudaMalloc and cudaFree of the intermediate pictures in each call",
       "intermediate pictures allocated once",
       made<Edges>},
      {"kmeans_points",
       "k-means, 1M points of 32 features, 1024 clusters",
       "host_transfer",
       {"host_transfer"},
       "points copied in from pageable memory and labels copied back in each iteration",
       "points and labels stay on the GPU",
       made<KMeans>},
      {"asian_options", "Monte Carlo pricing of Asian options", "none", {}, "none", "none", made<AsianOptions>},
      {"tabular_mlp",
       "train step of an MLP on tabular data",
       "precision",
       {"precision"},
       "matrix products in plain FP32",
       "TF32 matrix products",
       made<TabularMlp>},
      {"sensor_autoencoder",
       "train step of an autoencoder on sensor windows",
       "data_loading",
       {"data_loading"},
       "the host cuts and normalizes each batch within the step",
       "eight workers prepare batches ahead",
       made<SensorAutoencoder>},
      {"deep_mlp_adam",
       "train step of a deep narrow MLP with Adam",
       "optimizer",
       {"optimizer", "launch_overhead"},
       "Adam in four launches for each parameter",
       "Adam in one launch over all parameters",
       made<DeepMlp>},
      {"ad_ranking",
       "scoring of 4096 candidates by an FP16 MLP",
       "gpu_underused",
       {"gpu_underused"},
       "candidates scored 64 at a time",
       "all candidates in one batch",
       made<Ranking>},
      {"text_prefill",
       "prefill of a small GPT over 8192 tokens, FP16",
       "attention",
       {"attention"},
       "attention written out as products, mask and softmax over the whole score matrix",
       "one fused attention kernel",
       made<Prefill>},
  };
  return all;
}

void list() {
  for (const Case& entry : cases()) {
    std::string accept;
    for (const std::string& id : entry.accept) accept += (accept.empty() ? "\"" : ", \"") + id + "\"";
    std::printf(
        "{\"name\": \"%s\", \"model\": \"%s\", \"injected\": \"%s\", \"accept\": [%s], \"flaw\": \"%s\", "
        "\"fix\": \"%s\"}\n",
        entry.name.c_str(), entry.model.c_str(), entry.injected.c_str(), accept.c_str(), entry.flaw.c_str(),
        entry.fix.c_str());
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The time of some steps in seconds, up to the synchronization behind them.
double timed(Program& program, long steps) {
  const double begin = seconds_now();
  for (long i = 0; i < steps; ++i) program.step();
  check(cudaDeviceSynchronize());
  return seconds_now() - begin;
}

void run(const Case& entry, bool fixed, double seconds) {
  const std::unique_ptr<Program> program = entry.make(fixed);
  check(cudaDeviceSynchronize());
  timed(*program, 5);
  const double each = timed(*program, 5) / 5;
  const long block = std::max(1L, std::lround(0.2 / std::max(each, 1e-6)));
  std::vector<double> blocks;
  long steps = 0;
  for (const double begin = seconds_now(); blocks.empty() || seconds_now() - begin < seconds; steps += block)
    blocks.push_back(1000.0 * timed(*program, block) / static_cast<double>(block));
  if (!std::isfinite(program->result())) fail(entry.name + ": the result is not finite");
  std::vector<double> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  std::printf("{\"step_ms\": %.5f, \"blocks_ms\": [", median);
  for (size_t i = 0; i < blocks.size(); ++i) std::printf("%s%.5f", i == 0 ? "" : ", ", blocks[i]);
  std::printf("], \"steps\": %ld}\n", steps);
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string_view> arguments(words + 1, words + count);
  if (arguments.size() == 1 && arguments[0] == "list") {
    list();
    return 0;
  }
  if (arguments.size() != 4 || arguments[0] != "run")
    fail("usage: native_cases list | native_cases run NAME broken|fixed SECONDS");
  const auto found =
      std::find_if(cases().begin(), cases().end(), [&](const Case& entry) { return entry.name == arguments[1]; });
  if (found == cases().end()) fail("no such case: " + std::string(arguments[1]));
  const bool fixed = arguments[2] == "fixed";
  if (!fixed && arguments[2] != "broken") fail("the variant is broken or fixed");
  if (fixed && found->injected == "none") fail(found->name + " is healthy and has no variant fixed");
  const double seconds = std::atof(words[4]);
  if (!(seconds > 0)) fail("SECONDS must be above 0");
  run(*found, fixed, seconds);
  return 0;
}
