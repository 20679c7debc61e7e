// The NCCL engine: the GPUs of one process, each a rank; processes find one another over the bootstrap. Loops are timed
// as nccl-tests does: the host's clock around all calls and the wait for the last; each call by events before and
// behind it, in a pass of its own, as events between small calls cost what these do.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "collectives/module/exact_kernels.h"
#include "collectives/module/nccl_gpus.h"
#include "collectives/nccl/nccl_engine.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::collectives {
namespace {

using device::cuda_status;

class NcclEngine final : public Engine {
 public:
  NcclEngine(const NcclApi& api, Bootstrap& bootstrap) : api_(api), bootstrap_(bootstrap) {}

  Status open(const NcclOptions& options) {
    int devices = 0;
    WM_CUDA(cudaGetDeviceCount(&devices));
    const int own = options.gpus > 0 ? options.gpus : bootstrap_.processes() > 1 ? 1 : devices;
    const int first = bootstrap_.local_process() * own;
    if (first + own > devices) {
      return usage_error(fmt::format("more ranks than GPUs: process {} of this host wants GPUs {} to {}, there are {}",
                                     bootstrap_.local_process(), first, first + own - 1, devices),
                         "use fewer --ranks or a smaller -g; CUDA_VISIBLE_DEVICES may hide GPUs");
    }
    for (int i = 0; i < own; ++i) gpus_.push_back(std::make_unique<RankGpu>(api_, first + i));
    for (auto& gpu : gpus_) WM_TRY(gpu->open());
    WM_TRY(connect());
    return {};
  }

  [[nodiscard]] const char* id() const override { return "nccl"; }
  [[nodiscard]] std::string version() const override {
    int number = 0;
    if (api_.get_version(&number) != 0) return "NCCL";
    return fmt::format("NCCL {}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
  }
  [[nodiscard]] int ranks() const override { return bootstrap_.processes() * local_ranks(); }
  [[nodiscard]] int first_rank() const override { return bootstrap_.process() * local_ranks(); }
  [[nodiscard]] int local_ranks() const override { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] bool times_each_for_free() const override { return false; }
  [[nodiscard]] bool begins_before_end() const override { return true; }
  [[nodiscard]] std::string describe(int local) const override { return gpu(local).describe(); }
  [[nodiscard]] std::int64_t in_place_result(const Call& call, int rank) const override {
    const bool own_part = call.kind == Collective::scatter || call.kind == Collective::reduce_scatter;
    return own_part ? rank * call.counts.parameter : 0;
  }
  [[nodiscard]] Status supports(const Call&) const override { return {}; }

  Status allocate(std::size_t bytes_a_side) override {
    for (auto& gpu : gpus_) WM_TRY(gpu->allocate(bytes_a_side));
    return {};
  }

  Status fill(int local, const Region& region, const ExactInput& input, std::uint64_t salt, int rank) override {
    RankGpu& at = gpu(local);
    WM_CUDA(cudaSetDevice(at.device()));
    return cuda_status(launch_fill_exact(at.stream(), {at.at(region.side, region.offset_bytes), region.type,
                                                       region.count, input, salt, rank}),
                       "fill");
  }

  Status poison(int local, const Region& region) override {
    RankGpu& at = gpu(local);
    WM_CUDA(cudaSetDevice(at.device()));
    const auto bytes = static_cast<std::size_t>(region.count) * size_of(region.type);
    return cuda_status(cudaMemsetAsync(at.at(region.side, region.offset_bytes), 0xFF, bytes, at.stream()),
                       "cudaMemsetAsync");
  }

  Result<std::int64_t> count_wrong(int local, const Region& region, const Expected& expected) override {
    RankGpu& at = gpu(local);
    WM_CUDA(cudaSetDevice(at.device()));
    WM_CUDA(cudaMemsetAsync(at.counter(), 0, sizeof(unsigned long long), at.stream()));
    WM_TRY(cuda_status(launch_count_wrong(at.stream(), at.at(region.side, region.offset_bytes), region.type,
                                          region.count, expected, at.counter()),
                       "check"));
    unsigned long long wrong = 0;
    WM_CUDA(cudaMemcpyAsync(&wrong, at.counter(), sizeof(wrong), cudaMemcpyDeviceToHost, at.stream()));
    WM_CUDA(cudaStreamSynchronize(at.stream()));
    return static_cast<std::int64_t>(wrong);
  }

  Status corrupt(int local, Side side, std::size_t offset_bytes) override {
    RankGpu& at = gpu(local);
    WM_CUDA(cudaSetDevice(at.device()));
    unsigned char byte = 0;
    WM_CUDA(cudaMemcpy(&byte, at.at(side, offset_bytes), 1, cudaMemcpyDeviceToHost));
    byte ^= 0x41;
    WM_CUDA(cudaMemcpy(at.at(side, offset_bytes), &byte, 1, cudaMemcpyHostToDevice));
    return {};
  }

  Result<std::vector<RankLoop>> run(const Call& call, const SetLayout& layout, const LoopRequest& request) override {
    WM_TRY(wait_all());  // what fills the buffers is not timed
    WM_TRY(bootstrap_.barrier());
    return request.each     ? run_each(call, layout, request)
           : call.graph > 0 ? run_graph(call, layout, request)
                            : run_loop(call, layout, request);
  }

  Result<double> copy_rate(std::size_t) override { return 0.0; }  // no limit of links between GPUs; `links` tells

 private:
  [[nodiscard]] RankGpu& gpu(int local) const { return *gpus_[static_cast<std::size_t>(local)]; }

  Status connect() {
    NcclUniqueId id{};
    if (bootstrap_.process() == 0) WM_TRY(nccl_status(api_, api_.get_unique_id(&id), "ncclGetUniqueId"));
    WM_TRY(bootstrap_.broadcast(std::as_writable_bytes(std::span(id.internal)), 0));
    WM_TRY(nccl_status(api_, api_.group_start(), "ncclGroupStart"));
    for (int i = 0; i < local_ranks(); ++i) {
      WM_CUDA(cudaSetDevice(gpu(i).device()));
      WM_TRY(
          nccl_status(api_, api_.init_rank(&gpu(i).communicator(), ranks(), id, first_rank() + i), "ncclCommInitRank"));
    }
    return nccl_status(api_, api_.group_end(), "ncclGroupEnd");
  }

  Status wait_all() {
    for (auto& gpu : gpus_) WM_TRY(gpu->wait());
    return {};
  }

  /// Iteration i on all GPUs of this process. `begun`, if given, is called for each when its rank comes to the call:
  /// those that a planted fault keeps from it come last.
  Status enqueue(const Call& call, const SetLayout& layout, const LoopRequest& request, int i,
                 const std::function<Status(int local)>& begun = nullptr) {
    const auto set = static_cast<std::size_t>((request.first + i) % layout.sets) * layout.stride_bytes;
    for (const bool late : {false, true}) {
      for (int local = 0; local < local_ranks(); ++local) {
        const double delay_s = request.delay_s.empty() ? 0 : request.delay_s[static_cast<std::size_t>(local)];
        if ((delay_s > 0) != late) continue;
        if (late) std::this_thread::sleep_for(std::chrono::duration<double>(delay_s));
        if (begun) WM_TRY(begun(local));
      }
    }
    const bool several = local_ranks() > 1;
    if (several) WM_TRY(nccl_status(api_, api_.group_start(), "ncclGroupStart"));
    for (int local = 0; local < local_ranks(); ++local) {  // no device need be set: NCCL knows that of a communicator
      WM_TRY(gpu(local).enqueue(call, set, first_rank() + local, ranks()));
    }
    return several ? nccl_status(api_, api_.group_end(), "ncclGroupEnd") : Status();
  }

  Result<std::vector<RankLoop>> run_loop(const Call& call, const SetLayout& layout, const LoopRequest& request) {
    const std::int64_t begin = monotonic_ns();
    for (int i = 0; i < request.iterations; ++i) WM_TRY(enqueue(call, layout, request, i));
    WM_TRY(wait_all());
    return whole_loops(begin, request.iterations, 1);
  }

  /// The time of one loop of so many; iterations have none of their own, but count.
  std::vector<RankLoop> whole_loops(std::int64_t begin_ns, int iterations, int loops) {
    RankLoop loop;
    loop.seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9 / loops;
    loop.each.assign(static_cast<std::size_t>(iterations), {begin_ns, loop.seconds / iterations});
    return std::vector<RankLoop>(gpus_.size(), loop);
  }

  Result<std::vector<RankLoop>> run_graph(const Call& call, const SetLayout& layout, const LoopRequest& request) {
    std::vector<device::Graph> graphs(gpus_.size());
    std::vector<device::GraphExecutable> executables(gpus_.size());
    for (auto& gpu : gpus_) {
      WM_CUDA(cudaSetDevice(gpu->device()));
      WM_CUDA(cudaStreamBeginCapture(gpu->stream(), cudaStreamCaptureModeThreadLocal));
    }
    Status captured;
    for (int i = 0; i < request.iterations && captured.ok(); ++i) captured = enqueue(call, layout, request, i);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {  // also after a fault, which would leave the streams capturing
      WM_CUDA(cudaSetDevice(gpus_[i]->device()));
      const cudaError_t ended = cudaStreamEndCapture(gpus_[i]->stream(), &graphs[i].handle);
      if (captured.ok()) captured = cuda_status(ended, "cudaStreamEndCapture");
    }
    WM_TRY(captured);
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      WM_CUDA(cudaSetDevice(gpus_[i]->device()));
      WM_CUDA(cudaGraphInstantiate(&executables[i].handle, graphs[i].handle, 0));
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      WM_CUDA(cudaSetDevice(gpus_[i]->device()));
      WM_CUDA(cudaGraphUpload(executables[i].handle, gpus_[i]->stream()));
    }
    WM_TRY(wait_all());
    WM_TRY(bootstrap_.barrier());
    const std::int64_t begin = monotonic_ns();
    for (int replay = 0; replay < call.graph; ++replay) {
      for (std::size_t i = 0; i < gpus_.size(); ++i) {
        WM_CUDA(cudaSetDevice(gpus_[i]->device()));
        WM_CUDA(cudaGraphLaunch(executables[i].handle, gpus_[i]->stream()));
      }
    }
    WM_TRY(wait_all());
    return whole_loops(begin, request.iterations, call.graph);
  }

  Result<std::vector<RankLoop>> run_each(const Call& call, const SetLayout& layout, const LoopRequest& request) {
    const auto n = static_cast<std::size_t>(request.iterations);
    std::vector<std::vector<device::Event>> events(gpus_.size());  // of each call the one before it and the one behind
    for (std::size_t local = 0; local < gpus_.size(); ++local) {
      WM_CUDA(cudaSetDevice(gpus_[local]->device()));
      events[local] = std::vector<device::Event>(2 * n);
      for (auto& event : events[local]) WM_TRY(event.create(cudaEventDefault));
    }
    const auto record = [&](std::size_t local, std::size_t event) -> Status {
      WM_CUDA(cudaSetDevice(gpus_[local]->device()));
      return cuda_status(cudaEventRecord(events[local][event].get(), gpus_[local]->stream()), "cudaEventRecord");
    };
    const std::int64_t begin = monotonic_ns();
    for (std::size_t i = 0; i < n; ++i) {
      WM_TRY(enqueue(call, layout, request, static_cast<int>(i),
                     [&](int local) { return record(static_cast<std::size_t>(local), 2 * i); }));
      for (std::size_t local = 0; local < gpus_.size(); ++local) WM_TRY(record(local, 2 * i + 1));
    }
    WM_TRY(wait_all());
    std::vector<RankLoop> loops(gpus_.size());
    for (std::size_t local = 0; local < gpus_.size(); ++local) {
      WM_CUDA(cudaSetDevice(gpus_[local]->device()));
      loops[local].seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      for (std::size_t i = 0; i < n; ++i) {
        float milliseconds = 0;
        WM_CUDA(cudaEventElapsedTime(&milliseconds, events[local][2 * i].get(), events[local][2 * i + 1].get()));
        loops[local].each.push_back({-static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6),
                                     static_cast<double>(milliseconds) * 1e-3});
      }
    }
    return loops;
  }

  const NcclApi& api_;
  Bootstrap& bootstrap_;
  std::vector<std::unique_ptr<RankGpu>> gpus_;
};

Result<std::unique_ptr<Engine>> make_engine(Bootstrap& bootstrap, const NcclOptions& options) {
  WM_ASSIGN(const auto* api, nccl_api());
  auto engine = std::make_unique<NcclEngine>(*api, bootstrap);
  WM_TRY(engine->open(options));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const CollectivesModule* warpmark_collectives_module() {
  static const CollectivesModule module{.abi = kCollectivesModuleAbi, .engine = make_engine, .links = measure_links};
  return &module;
}

}  // namespace warpmark::collectives
