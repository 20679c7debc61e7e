#include "device/nvml/nvml.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "device/nvml/api.h"
#include "device/nvml/counters.h"

namespace warpmark::device::nvml {
namespace {

/// Loaded by the first question. Never destroyed, as a call that hangs may come back at the end of the program.
struct Library {
  std::mutex lock;
  std::optional<Result<Api>> api;
  std::map<std::string, GpuCounters> counters;  ///< by GPU; entries stay where they are
};
Library& library_state() {
  static Library& state = *new Library;
  return state;
}

Result<Api> library() {
  auto& state = library_state();
  const std::lock_guard guard(state.lock);
  if (!state.api) state.api = load_api();
  return *state.api;
}

GpuCounters& counters_of(const std::string& uuid) {
  auto& state = library_state();
  const std::lock_guard guard(state.lock);
  return state.counters[uuid];
}

/// Long enough for a driver that starts up its GPUs for us. Those who look often wait less (monitor/gpu_poll.h).
constexpr double kDeadline_s = 20;
constexpr double kNextDeadline_s = 2;  // while another lane hangs: most likely for the same reason

/// One thread for all calls about a GPU, and one for those about none, as a GPU that hangs holds up its own calls only.
struct Lane {
  std::mutex turn;
  VendorThread thread;
  bool hangs = false;
};
std::atomic<int> lanes_that_hang = 0;
Lane& lane_of(const std::string& uuid) {
  static std::mutex& lock = *new std::mutex;
  static auto& lanes = *new std::map<std::string, Lane>;
  const std::lock_guard guard(lock);
  return lanes[uuid];
}

/// The call's answer, or an error once the driver did not answer in time; from then on at once, until it does.
template <typename Value>
Result<Value> in_lane(const std::string& uuid, std::function<Result<Value>()> call) {
  Lane& lane = lane_of(uuid);
  const std::lock_guard guard(lane.turn);
  auto answer = std::make_shared<std::optional<Result<Value>>>();
  if (!lane.thread.busy()) {
    if (std::exchange(lane.hangs, false)) --lanes_that_hang;
    WM_TRY(lane.thread.start([answer, call = std::move(call)] { *answer = call(); }));
    const double deadline_s = lanes_that_hang > 0 ? kNextDeadline_s : kDeadline_s;
    if (lane.thread.wait_until(monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9))) {
      return std::move(**answer);
    }
    lane.hangs = true;
    ++lanes_that_hang;
  }
  return environment_error(fmt::format("the NVIDIA driver has not answered for {:.0f} s", lane.thread.waiting_s()),
                           "look for its messages: sudo dmesg | grep -E 'NVRM|Xid'");
}

template <typename Value>
Result<Value> asked(const std::string& uuid, std::function<Result<Value>(const Api&)> call) {
  return in_lane<Value>(uuid, [call = std::move(call)]() -> Result<Value> {
    WM_ASSIGN(const Api api, library());
    return call(api);
  });
}

}  // namespace

Support available() {
  const auto api = in_lane<Api>("", library);
  return api.ok() ? Support::yes() : Support::no(api.error().what, api.error().hint);
}

bool hangs() {
  Lane& lane = lane_of("");
  const std::lock_guard guard(lane.turn);
  return lane.thread.busy();
}

Result<Conditions> conditions_of(const std::string& uuid) {
  return asked<Conditions>(
      uuid, [uuid](const Api& api) { return conditions_of(api, uuid, {.own_pid = static_cast<unsigned>(getpid())}); });
}

Result<GpuFacts> facts_of(const std::string& uuid) {
  return asked<GpuFacts>(uuid, [uuid](const Api& api) { return facts_of(api, uuid); });
}

Result<GpuActivity> activity_of(const std::string& uuid) {
  return asked<GpuActivity>(uuid, [uuid](const Api& api) { return activity_of(api, uuid); });
}

Result<GpuActivity> inspect(const std::string& uuid) {
  return asked<GpuActivity>(
      uuid, [uuid](const Api& api) -> Result<GpuActivity> { return inspect(api, uuid, &counters_of(uuid)); });
}

Status renew() {
  const auto renewed = in_lane<Api>("", [] {
    auto& state = library_state();
    const std::lock_guard guard(state.lock);
    if (state.api && state.api->ok() && (*state.api)->shutdown != nullptr) (void)(*state.api)->shutdown();
    for (auto& [uuid, counters] : state.counters) counters.forget_objects();
    state.api = load_api();
    return *state.api;
  });
  return renewed.ok() ? Status() : renewed.error();
}

Result<PcieBytes> pcie_bytes_of(const std::string& uuid) {
  return asked<PcieBytes>(uuid, [uuid](const Api& api) { return pcie_bytes_of(api, uuid); });
}

Result<std::vector<GpuFacts>> gpu_list() {
  return asked<std::vector<GpuFacts>>("", [](const Api& api) { return gpu_list(api); });
}

Result<std::vector<GpuLink>> topology() {
  return asked<std::vector<GpuLink>>("", [](const Api& api) { return topology(api); });
}

Result<Versions> versions() {
  return asked<Versions>("", [](const Api& api) { return versions(api); });
}

struct VendorThread::State {
  std::mutex lock;
  std::condition_variable changed;
  std::function<void()> call;  ///< empty: none is under way
  std::int64_t began_ns = 0;
  bool ending = false;
  std::thread thread;

  void run() {
    std::unique_lock guard(lock);
    while (true) {
      // wait() itself asks for a newer libstdc++ than the distribution may.
      while (!changed.wait_for(guard, std::chrono::minutes(1), [this] { return ending || call; })) {
      }
      if (!call) return;
      guard.unlock();
      call();
      guard.lock();
      call = nullptr;
      changed.notify_all();
    }
  }
};

VendorThread::~VendorThread() {
  if (state_ == nullptr) return;
  bool left_behind = false;
  {
    const std::lock_guard guard(state_->lock);
    state_->ending = true;
    left_behind = static_cast<bool>(state_->call);
  }
  state_->changed.notify_all();
  if (left_behind) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

Status VendorThread::start(std::function<void()> call) {
  const bool fresh = state_ == nullptr;
  if (fresh) state_ = std::make_shared<State>();
  {
    const std::lock_guard guard(state_->lock);
    WM_CHECK(!state_->call);
    state_->call = std::move(call);
    state_->began_ns = monotonic_ns();
  }
  if (!fresh) return state_->changed.notify_all(), Status();
  try {
    state_->thread = std::thread([state = state_] { state->run(); });
  } catch (const std::system_error& exception) {
    state_.reset();
    return environment_error(std::string("no thread to ask the GPU driver: ") + exception.what(),
                             "raise the limit of processes (ulimit -u)");
  }
  return {};
}

bool VendorThread::busy() const { return waiting_s() > 0; }

bool VendorThread::wait_until(std::int64_t monotonic) {
  if (state_ == nullptr) return true;
  std::unique_lock guard(state_->lock);
  const auto left = std::chrono::nanoseconds(std::max<std::int64_t>(0, monotonic - monotonic_ns()));
  return state_->changed.wait_for(guard, left, [this] { return !state_->call; });
}

double VendorThread::waiting_s() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard guard(state_->lock);
  return state_->call ? std::max(1e-9, static_cast<double>(monotonic_ns() - state_->began_ns) * 1e-9) : 0;
}

}  // namespace warpmark::device::nvml
