// A second set of programs in CUDA C++ with cuBLAS, each with one plain flaw and its usual remedy, by somebody who did
// not know the analysis: particles, waves, tables, text, pricing, search and networks. Two of them are healthy.
//   nvcc -std=c++20 -O3 -arch=sm_90 -o native_cases2 bench/gpu/native_cases2.cu -lcublas
//   native_cases2 list | native_cases2 run NAME broken|fixed SECONDS
#include <algorithm>
#include <chrono>
#include <string_view>

#include "native2_device.cuh"
#include "native2_encoder.cuh"
#include "native2_fields.cuh"
#include "native2_networks.cuh"
#include "native2_numbers.cuh"
#include "native2_particles.cuh"
#include "native2_search.cuh"
#include "native2_tables.cuh"
#include "native2_text.cuh"

namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"argon_liquid", "molecular dynamics of 405k argon atoms in cells", "none", {}, "none", "none", make<Argon>},
      {"water_tank",
       "smoothed particle hydrodynamics, 512k particles",
       "memory_allocation",
       {"memory_allocation"},
       "cudaMalloc and cudaFree of the work arrays in each time step",
       "work arrays allocated once",
       make<WaterTank>},
      {"seismic_shot",
       "acoustic waves in the ground, 256^3 cells",
       "host_transfer",
       {"host_transfer"},
       "the whole wavefield copied back to pageable memory, of which one layer is used",
       "only the layer of the receivers copied, into pinned memory",
       make<SeismicShot>},
      {"drop_level_set",
       "level set of drops under surface tension, 320^3 cells",
       "memory_bandwidth",
       {"memory_bandwidth"},
       "slopes, steepness, curvature, speed and update each in a kernel of its own",
       "one kernel for all",
       make<LevelSet>},
      {"page_rank",
       "PageRank over 262k pages",
       "cpu_gpu_sync",
       {"cpu_gpu_sync"},
       "the residual read by the host in each iteration",
       "all residuals read once at the end",
       make<PageRank>},
      {"sales_join",
       "hash join of 32M sales with 2M products, summed by group",
       "host_transfer",
       {"host_transfer"},
       "the unchanged table of products copied in from pageable memory for each query",
       "the table stays on the GPU",
       make<SalesJoin>},
      {"movie_factors",
       "matrix factorization by SGD, 2M users, 4M ratings a step",
       "memory_bandwidth",
       {"memory_bandwidth"},
       "the factors of a user lie far apart: each access fetches a sector for one number",
       "the factors of a user lie side by side and are read together",
       make<MovieFactors>},
      {"trip_scores",
       "outlier scores of taxi trips read from text",
       "data_loading",
       {"data_loading"},
       "the host parses each batch of lines within the step",
       "ten workers parse ahead",
       make<TripScores>},
      {"option_book",
       "Black-Scholes sensitivities of 100M options",
       "precision",
       {"precision"},
       "everything in FP64",
       "FP32",
       make<OptionBook>},
      {"track_filters", "Kalman filters of 4M tracks", "none", {}, "none", "none", make<Tracks>},
      {"picture_search",
       "8 nearest of 262k descriptors for 2048 queries",
       "precision",
       {"precision"},
       "the matrix product of the distances in plain FP32",
       "TF32",
       make<PictureSearch>},
      {"protein_search",
       "Smith-Waterman alignment of a protein with 4096 others",
       "gpu_underused",
       {"gpu_underused"},
       "64 proteins a launch",
       "all proteins in one launch",
       make<ProteinSearch>},
      {"speech_lstm",
       "LSTM of two layers over 160 frames, 16 speakers",
       "launch_overhead",
       {"launch_overhead"},
       "fourteen tiny launches a frame and layer, one by one",
       "one product and one kernel a frame and layer, captured as a CUDA graph",
       make<Speech>},
      {"residual_training",
       "train step of a residual network of 48 blocks",
       "optimizer",
       {"optimizer", "launch_overhead"},
       "momentum, decay and running mean by six cuBLAS calls for each parameter",
       "the update of all parameters in one launch",
       make<ResidualTraining>},
      {"slide_encoder",
       "encoder over the 10240 tiles of a slide, BF16",
       "attention",
       {"attention"},
       "attention by way of the whole matrix of scores",
       "one fused attention kernel",
       make<SlideEncoder>},
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

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds for some steps and the one synchronization behind them.
double time_of(Program& program, long steps) {
  const double begin = now();
  for (long i = 0; i < steps; ++i) program.step();
  ok(cudaDeviceSynchronize());
  return now() - begin;
}

void run(const Case& entry, bool fixed, double seconds) {
  const std::unique_ptr<Program> program = entry.make(fixed);
  ok(cudaDeviceSynchronize());
  time_of(*program, 10);
  const long block = std::clamp(std::lround(0.2 * 10 / time_of(*program, 10)), 1L, 100000L);
  std::vector<double> blocks;
  const double begin = now();
  do blocks.push_back(1000.0 * time_of(*program, block) / static_cast<double>(block));
  while (now() - begin < seconds);
  if (!std::isfinite(program->result())) stop(entry.name + ": the result is not finite");
  std::vector<double> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  std::printf("{\"step_ms\": %.5f, \"blocks_ms\": [", median);
  for (size_t i = 0; i < blocks.size(); ++i) std::printf("%s%.5f", i == 0 ? "" : ", ", blocks[i]);
  std::printf("], \"steps\": %ld}\n", block * static_cast<long>(blocks.size()));
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string_view> arguments(words + 1, words + count);
  if (arguments.size() == 1 && arguments[0] == "list") {
    list();
    return 0;
  }
  if (arguments.size() != 4 || arguments[0] != "run")
    stop("usage: native_cases2 list | native_cases2 run NAME broken|fixed SECONDS");
  const auto found =
      std::find_if(cases().begin(), cases().end(), [&](const Case& entry) { return entry.name == arguments[1]; });
  if (found == cases().end()) stop("no such case: " + std::string(arguments[1]));
  const bool fixed = arguments[2] == "fixed";
  if (!fixed && arguments[2] != "broken") stop("the variant is broken or fixed");
  if (fixed && found->injected == "none") stop(found->name + " is healthy and has no variant fixed");
  const double seconds = std::atof(words[4]);
  if (!(seconds > 0)) stop("SECONDS must be above 0");
  run(*found, fixed, seconds);
  return 0;
}
