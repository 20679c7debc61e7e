#include "report/sample_session.h"

#include <algorithm>
#include <cmath>

#include "analyze/roofline.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

/// Positive, skewed to the slow side as timings are.
std::vector<double> sample_times(double seconds, const SampleShape& shape, std::uint64_t seed) {
  std::vector<double> times;
  for (std::size_t i = 0; i < shape.n; ++i) {
    const auto at = [&](std::uint64_t k) { return stats::random_unit(seed, 4 * i + k); };
    const double bump = -std::log(1 - at(0)) * 0.6 + (at(1) + at(2)) * 0.5;
    times.push_back(seconds * (1 + shape.noise * bump + (at(3) < shape.outliers ? 0.5 : 0)));
  }
  return times;
}

Metric sample_metric(std::string id, std::string unit, Better better, std::vector<double> samples) {
  Metric metric{std::move(id), std::move(unit), better, std::move(samples), {}, {}};
  metric.round_sizes = {static_cast<std::int64_t>(metric.samples.size())};
  metric.summary = stats::summarize(metric.samples);
  return metric;
}

void add_memory_runs(SampleSession& sample) {
  const std::pair<std::int64_t, double> cpu_rates[] = {{16 << 10, 6.1e11}, {256 << 10, 4.2e11},   {4 << 20, 2.4e11},
                                                       {16 << 20, 2.1e11}, {128LL << 20, 8.2e10}, {512LL << 20, 7.8e10},
                                                       {1LL << 30, 7.7e10}};
  const std::pair<std::int64_t, double> gpu_rates[] = {
      {4 << 10, 3.1e9}, {256 << 10, 1.9e11}, {16 << 20, 2.2e12}, {256 << 20, 2.87e12}, {1LL << 30, 2.94e12}};
  struct Stream {
    const char* name;
    int arrays;
    double flops_per_byte;
    double speed;
  };
  for (const Stream& stream : {Stream{"copy", 2, 0, 1.0}, {"triad", 3, 2.0 / 12, 1.04}, {"read", 1, 0, 1.15}}) {
    for (const auto& [size, rate] : cpu_rates) {
      const double bytes = static_cast<double>(size) * stream.arrays;
      Run& run = sample.measured(stream.name, "cpu", {{"size", size}},
                                 {bytes * stream.flops_per_byte, bytes, size * stream.arrays, "f32", ""},
                                 bytes / (rate * stream.speed), {201, 0.01, 0.02});
      if (size < 64 << 20) run.mode = Mode::hot;
      if (size < 1 << 20) {
        run.timing.launches_per_sample = 64;
        run.notes.emplace_back("batched", "a launch is shorter than 100 steps of the timer");
      }
    }
    for (const auto& [size, rate] : gpu_rates) {
      const double bytes = static_cast<double>(size) * stream.arrays;
      sample.measured(stream.name, "cuda:0", {{"size", size}},
                      {bytes * stream.flops_per_byte, bytes, size * stream.arrays, "f32", ""},
                      bytes / (rate * stream.speed), {301, 0.004, 0.005});
    }
  }
  for (const char* memory : {"pinned", "pageable"}) {
    for (const std::int64_t size : {64 << 10, 4 << 20, 256 << 20}) {
      const double rate = (std::string(memory) == "pinned" ? 5.5e10 : 9e9) * static_cast<double>(size) /
                          static_cast<double>(size + (1 << 20));
      sample.measured("transfer", "cuda:0", {{"size", size}, {"direction", "h2d"}, {"memory", memory}},
                      {0, static_cast<double>(size), size, "", "h2d"}, static_cast<double>(size) / rate, {51, 0.02, 0});
    }
  }
}

void add_compute_runs(SampleSession& sample) {
  const auto gemm = [&](const char* device, std::int64_t m, const char* dtype, double rate) -> Run& {
    const double flops = 2.0 * std::pow(static_cast<double>(m), 3);
    const double element = std::string(dtype) == "bf16" ? 2 : 4;
    const double bytes = 3 * element * static_cast<double>(m * m);
    return sample.measured(
        "gemm", device,
        {{"m", m}, {"n", m}, {"k", m}, {"dtype", dtype}, {"impl", "auto"}, {"candidates", std::int64_t{8}}},
        {flops, bytes, static_cast<std::int64_t>(bytes), dtype, ""}, flops / rate, {61, 0.002, 0.01});
  };
  gemm("cpu", 512, "f32", 7.1e11);
  gemm("cpu", 2048, "f32", 9.2e11).notes.emplace_back("algorithm", "onednn: brgemm avx512_core");
  gemm("cuda:0", 4096, "f32", 5.05e13);
  gemm("cuda:0", 4096, "bf16", 6.91e14)
      .notes.emplace_back("algorithm", "cublaslt 67: 128x256 tile, 3 stages, cluster 2x1");
  gemm("cuda:0", 8192, "bf16", 6.55e14);
  const ParamList fp8{{"m", std::int64_t{8192}}, {"n", std::int64_t{8192}}, {"k", std::int64_t{8192}},
                      {"dtype", "fp8"},          {"impl", "auto"},          {"candidates", std::int64_t{8}}};
  sample.unmeasured("gemm", "cpu", fp8, Outcome::unsupported, "no library here multiplies fp8 on a CPU");
  const auto attention = [&](const char* impl, std::int64_t seq, double seconds) -> Run& {
    const double flops = 4.0 * 8 * 16 * 64 * static_cast<double>(seq * seq);
    const double bytes = 4.0 * 2 * 8 * 16 * 64 * static_cast<double>(seq);
    return sample.measured("attention", "cuda:0",
                           {{"batch", std::int64_t{8}},
                            {"heads", std::int64_t{16}},
                            {"seq", seq},
                            {"dim", std::int64_t{64}},
                            {"causal", "no"},
                            {"dtype", "bf16"},
                            {"impl", impl}},
                           {flops, bytes, static_cast<std::int64_t>(bytes), "bf16", ""}, seconds);
  };
  attention("flash", 1024, 0.139e-3);
  attention("flash", 4096, 1.83e-3);
  attention("standard", 4096, 12.4e-3);
  attention("cudnn", 4096, 1.21e-3);
}

void add_troubled_runs(SampleSession& sample) {
  const ParamList conv{{"n", std::int64_t{64}}, {"c", std::int64_t{64}}, {"h", std::int64_t{56}},
                       {"w", std::int64_t{56}}, {"k", std::int64_t{64}}, {"r", std::int64_t{3}},
                       {"layout", "nhwc"},      {"dtype", "bf16"}};
  Run& wrong = sample.unmeasured("conv2d", "cuda:0", conv, Outcome::failed,
                                 "wrong output: relative Frobenius norm is 0.31, tolerance 0.01",
                                 "the speed of a wrong result means nothing and is not shown");
  wrong.error = ErrorCheck{0.31, 0.01, "relative Frobenius norm", "fp64 reference"};
  const ParamList texture{
      {"n", std::int64_t{64}}, {"h", std::int64_t{224}}, {"w", std::int64_t{224}}, {"impl", "fused"}};
  Run& throttled = sample.measured("fused_texture", "cuda:0", texture, {2.9e8, 1.54e8, 154000000, "f32", ""}, 6.9e-5,
                                   {240, 0.08, 0.03});
  throttled.outcome = Outcome::unreliable;
  throttled.reason = "the GPU was throttled: hw_thermal_slowdown";
  throttled.hint = "let it cool down, then check the fans and the inlet temperature";
  throttled.environment.disturbances = {{"throttle", throttled.reason, true}};
  sample.unmeasured("top_k_patches", "cuda:0",
                    {{"batch", std::int64_t{64}}, {"n", std::int64_t{196}}, {"k", std::int64_t{500}}}, Outcome::error,
                    "k = 500 is more than n = 196 patches", "choose k from 1 to 196");
  Run& short_run = sample.measured("opponent_balance", "cpu", {{"batch", std::int64_t{64}}, {"n", std::int64_t{196}}},
                                   {1.1e6, 3.0e5, 300000, "f32", ""}, 2.4e-4, {7, 0.2, 0});
  short_run.environment.disturbances = {{"other_load", "other processes used 12 % of the CPU time", false}};
  sample.measured("launch", "cuda:0", {{"kind", "kernel"}}, {}, 2.21e-6, {1000, 0.02, 0.01});
  sample.measured("launch", "cpu", {{"kind", "wakeup"}}, {}, 2.1e-8, {1000, 0.15, 0.02}).mode = Mode::hot;
  sample.measured("fused_texture", "cpu", texture, {2.9e8, 1.54e8, 154000000, "f32", ""}, 8.1e-3, {1, 0, 0});
  sample.unmeasured("fused_texture", "cuda:0", texture, Outcome::skipped, "the time budget of 60 s was used up",
                    "give a larger --budget");
}

}  // namespace

Machine sample_machine() {
  DeviceInfo cpu{"cpu",
                 "cpu",
                 "Intel(R) Xeon(R) Platinum 8480+",
                 "",
                 64LL << 30,
                 105LL << 20,
                 {},
                 8,
                 3.8e9,
                 "x86-64 avx512f amx_bf16",
                 {{"NUMA nodes", "1"}, {"governor", "performance"}}};
  cpu.caches = {{1, "data", 48 << 10, 2}, {2, "unified", 2 << 20, 2}, {3, "unified", 105 << 20, 16}};
  DeviceInfo gpu{"cuda:0",
                 "cuda",
                 "NVIDIA H100 80GB HBM3",
                 "GPU-5f3c",
                 80LL << 30,
                 50LL << 20,
                 {},
                 132,
                 1.98e9,
                 "sm_90",
                 {{"power cap", "700 W"}, {"ECC", "on"}}};
  gpu.caches = {{2, "unified", 50 << 20, 132}};
  Machine machine{"node17",
                  "Debian GNU/Linux 12 (bookworm)",
                  "6.1.0-18-amd64",
                  cpu.name,
                  "kvm",
                  64LL << 30,
                  {cpu, gpu},
                  {{"NVIDIA driver", "580.65"}, {"CUDA", "13.0"}, {"cuDNN", "9.12.0"}},
                  "8c1f03a95be2d417"};
  return machine;
}

SampleSession::SampleSession() {
  session_.id = "20260301T101502Z-3f9a";
  session_.started = "2026-03-01T10:15:02Z";
  session_.command = "warpmark run --suite full --device all";
  session_.commit = "1d5f0c2ab9e4";
  session_.branch = "faster-texture";
  session_.dirty = true;
  session_.complete = true;
  session_.machine = sample_machine();
  session_.build = {"0.1.0", "a954c5e01b7d", false, "GCC 12.2.0", "Release", {"cuda 13.0", "onednn 2.6.3"}};
}

Run& SampleSession::unmeasured(const char* workload, const char* device, const ParamList& params, Outcome outcome,
                               std::string reason, std::string hint) {
  Run run;
  run.index = static_cast<std::int64_t>(session_.runs.size());
  run.id = session_.id + "." + std::to_string(run.index);
  run.workload = workload;
  for (const auto& [name, value] : params) run.params.set(name, value);
  run.device = device;
  run.mode = Mode::cold;
  run.outcome = outcome;
  run.reason = std::move(reason);
  run.hint = std::move(hint);
  run.seed = 18446744073709551557ULL - static_cast<std::uint64_t>(run.index);
  run.started = session_.started;
  run.repro = std::string("warpmark run ") + workload + " --device " + device;
  for (const auto& [name, value] : run.params.items()) run.repro += " --set " + name + "=" + to_text(value);
  session_.runs.push_back(std::move(run));
  return session_.runs.back();
}

Run& SampleSession::measured(const char* workload, const char* device, const ParamList& params, const Cost& cost,
                             double seconds, const SampleShape& shape) {
  Run& run = unmeasured(workload, device, params, Outcome::passed, "");
  const bool gpu = run.device != "cpu";
  run.cost = cost;
  auto times = sample_times(seconds, shape, run.seed);
  const auto rates = [&](double work) {
    std::vector<double> values;
    for (const double time : times) values.push_back(work / time);
    return values;
  };
  run.metrics.push_back(sample_metric("time", "s", Better::lower, times));
  if (cost.flops > 0) run.metrics.push_back(sample_metric("flop_rate", "FLOP/s", Better::higher, rates(cost.flops)));
  if (cost.bytes > 0) run.metrics.push_back(sample_metric("bandwidth", "B/s", Better::higher, rates(cost.bytes)));
  if (gpu) run.metrics.push_back(sample_metric("energy", "J", Better::lower, {seconds * 480}));
  run.error = ErrorCheck{2.1e-7, 1e-5, "relative Frobenius norm", "fp64 reference"};
  run.warmup = {96, 0.21, true, "median of 8 moved by 0.1 %"};
  run.timing = {gpu ? "cuda_event" : "tsc", gpu ? 5e-7 : 1e-9, gpu ? 1.2e-6 : 1.1e-8, 1, gpu ? 4 : 3};
  run.converged = shape.n >= 11;
  run.rounds = 1;
  run.stopped_because = run.converged ? "interval of the median within 0.5 %" : "time budget of 2 s used up";
  if (gpu) {
    run.environment.readings = {
        {"sm_clock", "Hz", 1.98e9, 1.965e9}, {"temperature", "°C", 41, 47}, {"power", "W", 118.4, 604.0}};
  } else {
    run.environment.readings = {{"core_clock", "Hz", 3.5e9, 3.5e9}, {"load_average", "", 0.42, 1.13}};
  }
  return run;
}

Session SampleSession::finish() {
  session_.ceilings = analyze::ceilings_from(session_.runs, session_.machine);
  for (auto& run : session_.runs) {
    for (const auto& device : session_.machine.devices) {
      if (device.id == run.device && !run.metrics.empty()) {
        run.peak = analyze::share_of_peak(run, device, session_.ceilings);
      }
    }
  }
  return std::move(session_);
}

Session sample_session() {
  SampleSession sample;
  add_memory_runs(sample);
  add_compute_runs(sample);
  add_troubled_runs(sample);
  return sample.finish();
}

Session small_session() {
  SampleSession sample;
  for (const std::int64_t size : {64LL << 20, 256LL << 20, 1024LL << 20}) {
    const auto bytes = 2.0 * static_cast<double>(size);
    sample.measured("copy", "cpu", {{"size", size}}, {0, bytes, 2 * size, "f32", ""}, bytes / 8e10, {9, 0.01, 0});
  }
  const ParamList gemm{{"m", std::int64_t{512}}, {"n", std::int64_t{512}}, {"k", std::int64_t{512}}, {"dtype", "f32"}};
  Run& best = sample.measured("gemm", "cpu", gemm, {2.7e8, 3.1e6, 3100000, "f32", ""}, 3.8e-4, {12, 0.003, 0});
  best.notes = {{"algorithm", "<best> of 8 | a*b_c & d"}};
  Run& wrong = sample.unmeasured("conv2d", "cuda:0", {{"dtype", "bf16"}}, Outcome::failed, "error 0.31 > 0.01", "");
  wrong.error = ErrorCheck{0.31, 0.01, "relative Frobenius norm", "fp64 reference"};
  Run& hot = sample.measured("top_k_patches", "cuda:0", {{"k", std::int64_t{64}}}, {1e6, 1e7, 10000000, "f32", ""},
                             4e-5, {5, 0.2, 0});
  hot.outcome = Outcome::unreliable;
  hot.reason = "the GPU was throttled";
  hot.environment.disturbances = {{"throttle", hot.reason, true}};
  sample.unmeasured("gemm", "cuda:0", {{"dtype", "fp8"}}, Outcome::unsupported, "no fp8 here", "use a newer GPU");
  sample.unmeasured("attention", "cuda:0", {}, Outcome::skipped, "the time budget of 60 s was used up");
  sample.unmeasured("attention", "cpu", {}, Outcome::error, "12 GiB are needed and 4 GiB are free",
                    "choose a smaller seq");
  return sample.finish();
}

}  // namespace warpmark::report
