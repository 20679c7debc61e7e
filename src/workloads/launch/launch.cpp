// launch: what it costs to start work at all, without doing any. On the CPU: waking a sleeping thread, and starting and
// joining a team of threads.
#include <omp.h>

#include <cstring>

#include "workloads/cuda_bridge.h"
#include "workloads/launch/wakeup.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

constexpr ParamSpec kLaunchParams[] = {
    {"kind", ParamKind::text, "kernel",
     "GPU: one empty kernel, a burst of them, an event, a graph; CPU: a thread woken, a team of threads",
     "kernel|rate|event|graph|wakeup|fork_join"},
};

constexpr std::int64_t kLine = 64;

/// No FLOPs and no bytes: the time is the result.
Result<Cost> launch_cost(const measure::Workload& /*self*/, const Params& /*params*/) {
  return Cost{.flops = 0, .bytes = 0, .footprint_bytes = kLine, .flop_type = "", .link = ""};
}

bool is_cpu_kind(const std::string& kind) { return kind == "wakeup" || kind == "fork_join"; }

ErrorCheck exact(double wrong, const char* what) {
  return {.value = wrong, .tolerance = 0, .norm = what, .reference = "the number of the last launch"};
}

class WakeupOnCpu final : public measure::Prepared {
 public:
  Status launch(Stream /*stream*/, std::size_t /*set*/) override { return sleeper_.ask(); }
  Status poison() override {
    sleeper_.forget_answer();
    return {};
  }
  Result<ErrorCheck> check(std::size_t /*set*/) override {
    return exact(sleeper_.answered() == sleeper_.asked() ? 0 : 1, "answers that differ");
  }
  [[nodiscard]] bool host_clock() const override { return true; }
  [[nodiscard]] Notes notes() const override {
    return {{"meaning", "one launch is two wake-ups: of the sleeping thread, and of this one by its answer"},
            {"threads", "2, not pinned"}};
  }

 private:
  SleepingThread sleeper_;
};

class ForkJoinOnCpu final : public measure::Prepared {
 public:
  explicit ForkJoinOnCpu(int threads) : threads_(threads), seen_(static_cast<std::size_t>(threads)) {}

  Status launch(Stream /*stream*/, std::size_t /*set*/) override {
    ++launches_;
#pragma omp parallel num_threads(threads_)
    seen_[static_cast<std::size_t>(omp_get_thread_num())].launch = launches_;
    return {};
  }
  Status poison() override {
    for (auto& seen : seen_) std::memset(&seen.launch, 0xFF, sizeof seen.launch);
    return {};
  }
  Result<ErrorCheck> check(std::size_t /*set*/) override {
    double wrong = 0;
    for (const auto& seen : seen_) wrong += seen.launch == launches_ ? 0 : 1;
    return exact(wrong, "threads that did not run");
  }
  [[nodiscard]] bool host_clock() const override { return true; }
  [[nodiscard]] Notes notes() const override {
    return {{"meaning", "an empty OpenMP parallel region: start of the team and its barrier"},
            {"threads", std::to_string(threads_)}};
  }

 private:
  struct alignas(kLine) Seen {
    std::uint64_t launch = 0;  ///< number of the last launch this thread took part in
  };
  int threads_;
  std::uint64_t launches_ = 0;
  std::vector<Seen> seen_;
};

Support supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const std::string& kind = params.text("kind");
  if (is_cpu_kind(kind)) return Support::yes();
  return Support::no("kind=" + kind + " is of a GPU", "use kind=wakeup or kind=fork_join on the CPU");
}

/// The GPU's implementation knows only its own kinds.
Support supports_launch(const measure::Workload& self, const DeviceInfo& device, const Params& params) {
  if (device.backend == "cuda" && is_cpu_kind(params.text("kind"))) {
    return Support::no("kind=" + params.text("kind") + " is of the CPU", "use kind=kernel, rate, event or graph");
  }
  return supports_by_backend<supports_cpu>(self, device, params);
}

Result<std::unique_ptr<measure::Prepared>> prepare_launch_cpu(const measure::PrepareOptions& options) {
  if (options.params.text("kind") == "wakeup") {
    return std::unique_ptr<measure::Prepared>(std::make_unique<WakeupOnCpu>());
  }
  return std::unique_ptr<measure::Prepared>(std::make_unique<ForkJoinOnCpu>(omp_get_max_threads()));
}

std::vector<Overrides> launch_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend != "cuda") return {{{"kind", "wakeup"}}, {{"kind", "fork_join"}}};
  return {{{"kind", "kernel"}}, {{"kind", "rate"}}, {{"kind", "event"}}, {{"kind", "graph"}}};
}

}  // namespace

extern const measure::Workload kLaunch{
    .id = "launch",
    .summary = "cost of starting work: empty kernels, thread wake-up",
    .params = kLaunchParams,
    .cost = launch_cost,
    .supports = supports_launch,
    .prepare = prepare_by_backend<prepare_launch_cpu>,
    .cases = launch_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
