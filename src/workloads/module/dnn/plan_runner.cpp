#include "workloads/module/dnn/plan_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::workloads::dnn {
namespace {

constexpr int kBatches = 3;  ///< the fastest of so many timed batches counts
constexpr int kLaunchesPerBatch = 10;
constexpr double kFutile = 4;  ///< a plan whose first run takes so many times the best is not timed further

Status execute(const Cudnn& cudnn, const Plan& plan, const Descriptor& pack) {
  const cudnnStatus_t code = cudnn.execute(cudnn.handle(), plan.descriptor.get(), pack.get());
  if (code == CUDNN_STATUS_SUCCESS) return {};
  return cudnn.status(code, "cudnnBackendExecute");
}

Result<double> seconds_between(const device::Event& start, const device::Event& stop) {
  WM_CUDA(cudaEventSynchronize(stop.get()));
  float milliseconds = 0;
  WM_CUDA(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace

Result<PlanRunner> PlanRunner::create(device::Device& device, const Cudnn& cudnn, const Descriptor& graph,
                                      const PlanRunnerOptions& options) {
  PlanRunner runner;
  runner.cudnn_ = &cudnn;
  WM_ASSIGN(const std::int64_t free_bytes, device.free_memory());
  WM_ASSIGN(auto plans, make_plans(cudnn, graph,
                                   {.candidates = options.candidates,
                                    .workspace_limit_bytes = free_bytes / 2,
                                    .excluded = options.excluded}));
  WM_TRY(runner.choose(device, std::move(plans), options));
  return runner;
}

Status PlanRunner::choose(device::Device& device, std::vector<Plan> plans, const PlanRunnerOptions& options) {
  const auto largest = std::ranges::max_element(plans, {}, &Plan::workspace_bytes);
  WM_TRY(bind(device, options, largest->workspace_bytes));
  double best_s = std::numeric_limits<double>::infinity();
  double first_s = 0;
  std::size_t best = plans.size();
  std::size_t timed = 0;
  std::string last_failure;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto seconds = time(device.stream(), plans[i], kFutile * best_s);
    if (!seconds.ok()) {
      last_failure = seconds.error().what;
      WM_CUDA(cudaStreamSynchronize(device::cuda_stream(device.stream())));
      continue;
    }
    if (timed++ == 0) first_s = *seconds;
    if (*seconds < best_s) {
      best_s = *seconds;
      best = i;
    }
  }
  if (best == plans.size()) {
    return unsupported_error(fmt::format("none of cuDNN's {} plans ran: {}", plans.size(), last_failure));
  }
  trials_ = fmt::format("{} of {} plans timed; the heuristics' first would take {:.3g} times as long", timed,
                        plans.size(), first_s / best_s);
  plan_ = std::move(plans[best]);
  return bind(device, options, plan_.workspace_bytes);
}

Status PlanRunner::bind(device::Device& device, const PlanRunnerOptions& options, std::int64_t workspace_bytes) {
  packs_.clear();
  workspace_.reset();
  if (workspace_bytes > 0) {
    WM_ASSIGN(workspace_, device.allocate(static_cast<std::size_t>(workspace_bytes)));
  }
  for (const Pointers& pointers : options.sets) {
    WM_ASSIGN(auto pack, make_variant_pack(*cudnn_, {.ids = options.ids,
                                                     .pointers = pointers,
                                                     .workspace = workspace_ ? workspace_->data() : nullptr}));
    packs_.push_back(std::move(pack));
  }
  return {};
}

Result<double> PlanRunner::time(device::Stream stream, const Plan& plan, double give_up_s) const {
  const cudaStream_t cuda = device::cuda_stream(stream);
  WM_TRY(cudnn_->status(cudnn_->set_stream(cudnn_->handle(), cuda), "cudnnSetStream"));
  device::Event start, stop;
  WM_TRY(start.create(cudaEventDefault));
  WM_TRY(stop.create(cudaEventDefault));
  WM_TRY(execute(*cudnn_, plan, packs_.front()));  // loads the kernel
  std::size_t set = 0;
  double best_s = std::numeric_limits<double>::infinity();
  for (int batch = -1; batch < kBatches; ++batch) {  // batch -1 is one launch, to see whether more are worth it
    const int launches = batch < 0 ? 1 : kLaunchesPerBatch;
    WM_CUDA(cudaEventRecord(start.get(), cuda));
    for (int i = 0; i < launches; ++i) WM_TRY(execute(*cudnn_, plan, packs_[set++ % packs_.size()]));
    WM_CUDA(cudaEventRecord(stop.get(), cuda));
    WM_ASSIGN(const double seconds, seconds_between(start, stop));
    best_s = batch < 0 ? best_s : std::min(best_s, seconds / launches);
    if (batch < 0 && seconds > give_up_s) return seconds;
  }
  return best_s;
}

Status PlanRunner::launch(device::Stream stream, std::size_t set) const {
  const cudnnStatus_t code = cudnn_->set_stream(cudnn_->handle(), device::cuda_stream(stream));
  if (code != CUDNN_STATUS_SUCCESS) return cudnn_->status(code, "cudnnSetStream");
  return execute(*cudnn_, plan_, packs_[set]);
}

std::vector<std::pair<std::string, std::string>> PlanRunner::notes() const {
  return {{"library", "cuDNN " + cudnn_->version()},
          {"algorithm", plan_.name},
          {"candidates", trials_},
          {"workspace_bytes", std::to_string(plan_.workspace_bytes)}};
}

}  // namespace warpmark::workloads::dnn
