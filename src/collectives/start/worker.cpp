#include "collectives/start/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "collectives/mpi/mpi_module_api.h"
#include "collectives/nccl/nccl_engine.h"
#include "device/machine.h"

namespace warpmark::collectives {
namespace {

/// Seconds that the others get to say where they are, before this process ends itself.
constexpr unsigned kLastSeconds = 10;

class Watch {
 public:
  Watch(const Progress& progress, const Plan& plan, const std::function<void(const Json&)>& notify, int process)
      : progress_(progress), timeout_s_(plan.timeout_s), notify_(notify), process_(process) {
    // A process of that number must have been there: it may be out of sight in a container.
    if (plan.launcher > 0 && plan.launcher_host == device::host_name() && ::kill(plan.launcher, 0) == 0)
      launcher_ = plan.launcher;
    thread_ = std::thread([this] { watch(); });
  }
  ~Watch() {
    done_.store(true);
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void watch() {
    std::int64_t steps = -1, since = monotonic_ns(), reported = 0;
    while (!done_.load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      // Who started the ranks was killed: mpirun does not see that, and would go on for nobody.
      if (launcher_ > 0 && ::kill(launcher_, 0) != 0) ::kill(::getpid(), SIGKILL);
      if (process_ == 0 && monotonic_ns() - reported > 1'000'000'000) {
        reported = monotonic_ns();
        if (notify_) notify_(Json{{"alive", true}});
      }
      if (progress_.steps() != steps) {
        steps = progress_.steps();
        since = monotonic_ns();
      }
      if (static_cast<double>(monotonic_ns() - since) * 1e-9 < timeout_s_) continue;
      if (notify_) notify_(Json{{"process", process_}, {"host", device::host_name()}, {"doing", progress_.doing()}});
      ::alarm(kLastSeconds);  // nothing that waits for another rank can be called off: the signal ends the process
      return;
    }
  }

  const Progress& progress_;
  double timeout_s_;
  const std::function<void(const Json&)>& notify_;
  int process_;
  int launcher_ = 0;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

Result<std::unique_ptr<Engine>> engine_for(const Plan& plan, Bootstrap& bootstrap) {
  if (plan.engine == "nccl") return nccl_engine(bootstrap, {.gpus = plan.gpus});
  return mpi_engine(bootstrap);
}

}  // namespace

Status run_worker(const Plan& plan, const WorkerOptions& options) {
  if (options.started_by_us) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Progress progress;
  std::unique_ptr<Bootstrap> bootstrap = solo_bootstrap();
  const int known_rank =
      placed_by([](const char* name) -> const char* { return ::getenv(name); }).value_or(Placed{}).rank;
  const Watch watch(progress, plan, options.notify_state, known_rank);
  if (!options.alone) {
    progress.step("MPI_Init");
    WM_ASSIGN(bootstrap, mpi_bootstrap());
  }
  progress.step("making the communicator");
  WM_ASSIGN(auto engine, engine_for(plan, *bootstrap));
  const SweepEvents events{.head = [&](const Head& head) { options.notify("head", to_json(head)); },
                           .row = [&](const Row& row) { options.notify("row", to_json(row)); },
                           .die = [](int) { ::kill(::getpid(), SIGKILL); },
                           .stop = [](int) { ::kill(::getpid(), SIGSTOP); }};
  const Status swept = run_sweep(plan, *engine, *bootstrap, progress, events);
  if (!swept.ok()) {
    (void)engine.release();  // taking down a communicator after a fault may wait for ranks that have none, for ever
    return swept;
  }
  if (bootstrap->process() == 0) options.notify("done", Json::object());
  progress.step("ending");
  return {};
}

std::optional<Placed> placed_by(const char* (*environment)(const char* name)) {
  struct Names {
    const char* rank;
    const char* ranks;
  };
  // Open MPI's mpirun, MPICH's and Intel's, Slurm's srun.
  for (const Names names : {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Names{"PMI_RANK", "PMI_SIZE"},
                            Names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
    const char* rank = environment(names.rank);
    const char* ranks = environment(names.ranks);
    if (rank == nullptr || ranks == nullptr) continue;
    const auto rank_number = parse_integer(rank), rank_count = parse_integer(ranks);
    if (!rank_number.ok() || !rank_count.ok()) continue;
    return Placed{static_cast<int>(*rank_number), static_cast<int>(*rank_count)};
  }
  return std::nullopt;
}

}  // namespace warpmark::collectives
