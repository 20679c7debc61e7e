// A CUDA program of the corpus: run as PROGRAM flawed|cured SECONDS, its last line says what a step took.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "device.cuh"

// Its constructor, which takes whether the program is the cured one, sets up; step() is its loop's body, and result()
// is a value that must be finite at the end.
class Program {
 public:
  virtual ~Program() = default;
  virtual void step() = 0;
  virtual float result() = 0;
};

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The time of some steps in seconds, up to the synchronization behind them.
inline double timed(Program& program, long steps) {
  const double begin = seconds_now();
  for (long i = 0; i < steps; ++i) program.step();
  check(cudaDeviceSynchronize());
  return seconds_now() - begin;
}

template <typename P>
int run(int count, char** words) {
  const std::string_view variant = count == 3 ? words[1] : "";
  const double seconds = count == 3 ? std::atof(words[2]) : 0.0;
  if ((variant != "flawed" && variant != "cured") || !(seconds > 0.0))
    fail("usage: " + std::string(words[0]) + " flawed|cured SECONDS");
  const std::unique_ptr<Program> program = std::make_unique<P>(variant == "cured");
  check(cudaDeviceSynchronize());
  timed(*program, 10);
  const double each = timed(*program, 10) / 10;
  const long block = std::clamp(std::lround(0.2 / std::max(each, 1e-6)), 1L, 100000L);
  std::vector<double> blocks;
  const double begin = seconds_now();
  do blocks.push_back(1000.0 * timed(*program, block) / static_cast<double>(block));
  while (seconds_now() - begin < seconds);
  if (!std::isfinite(program->result())) fail("the result is not finite");
  std::printf("{\"blocks_ms\": [");
  for (size_t i = 0; i < blocks.size(); ++i) std::printf("%s%.5f", i == 0 ? "" : ", ", blocks[i]);
  std::printf("], \"steps\": %ld}\n", block * static_cast<long>(blocks.size()));
  return 0;
}
