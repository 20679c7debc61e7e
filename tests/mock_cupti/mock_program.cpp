// A program as the recorder meets it, with a pretended CUDA driver: at its first CUDA call it loads the library that
// CUDA_INJECTION64_PATH names, as the driver does; every call and its GPU work passes through the pretended CUPTI.
// Each step copies a batch, launches kernels (half of them from a second thread, as a backward pass does) and waits for
// the GPU; some launches use the driver, as Triton does. With odd=1 no two steps launch alike. For `startup` seconds
// before the steps it launches kernels that are all different.
//
//   mock_program [SECONDS] [kernels=N] [launch_us=T] [kill_after=S] [exit=CODE] [fork=1] [ranges=1] [cuda=0] [odd=1]
//   [driver=1] [compiler=1] [sleep_us=T]
//                [memory=1] [startup=S] [profiler_from=STEP profiler_to=STEP] [part=1]
//
// With part=1 each step is in a range called "part" that may end in another thread.
// With profiler_from, cudaProfilerStart is called before that step and cudaProfilerStop before step profiler_to.
//
// Prints the number of steps and of kernels it launched. Exits with 3 unless told otherwise.
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "mock_cupti/mock_cupti.h"
#include "profile/module/unix_clock.h"

namespace {

struct Script {
  double seconds = 1;
  int kernels = 9;
  double launch_us = 50;
  double kill_after = 0;
  double startup = 0;
  int exit_code = 3;
  bool fork = false;
  bool ranges = false;
  bool cuda = true;
  bool odd = false;       ///< steps differ
  bool memory = false;    ///< every step allocates and releases memory
  bool driver = false;    ///< copies and waits are calls of the driver
  bool compiler = false;  ///< every step has ranges of XLA's compiler
  bool part = false;
  long profiler_from = -1, profiler_to = -1;
  int sleep_us = 0;  ///< before each step
};

std::uint64_t now_ns() { return static_cast<std::uint64_t>(warpmark::profile::unix_ns()); }

void spend_until(std::uint64_t end_ns) {
  while (now_ns() < end_ns) {
  }
}

/// The driver: one stream, whose work begins when it was launched and what stands before it is finished.
class Driver {
 public:
  explicit Driver(double launch_us) : launch_ns_(static_cast<std::uint64_t>(launch_us * 1e3)) { load_injection(); }

  void launch(const char* name, std::uint64_t duration_ns, bool runtime) {
    constexpr std::uint32_t kRuntimeCall = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
    constexpr std::uint32_t kDriverCall = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    const MockCall call{runtime, runtime ? kRuntimeCall : kDriverCall, ++correlation_, name};
    const MockWork work{.kind = MockWork::Kind::kernel, .name = name, .correlation = call.correlation, .grid = 132};
    run(call, work, duration_ns);
    ++kernels_;
  }
  bool through_driver = false;  ///< copies and waits are calls of the driver
  void copy(std::uint64_t bytes) {
    const MockCall call{!through_driver,
                        through_driver ? static_cast<std::uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2)
                                       : static_cast<std::uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020),
                        ++correlation_};
    const MockWork work{.kind = MockWork::Kind::copy_to_device, .correlation = call.correlation, .bytes = bytes};
    run(call, work, bytes / 10);
  }
  void wait() {
    const MockCall call{!through_driver,
                        through_driver
                            ? static_cast<std::uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize)
                            : static_cast<std::uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020),
                        ++correlation_};
    mock_cupti_enter(&call);
    MockWork wait{.kind = MockWork::Kind::wait, .start_ns = now_ns(), .correlation = call.correlation};
    spend_until(free_at_ns_);
    wait.end_ns = now_ns();
    mock_cupti_work(&wait);
    mock_cupti_exit(&call);
  }
  /// As the runtime does, through the driver.
  void profiler(bool start) {
    const MockCall outer{true,
                         start ? static_cast<std::uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000)
                               : static_cast<std::uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000),
                         ++correlation_};
    const MockCall inner{false,
                         start ? static_cast<std::uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart)
                               : static_cast<std::uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop),
                         outer.correlation};
    mock_cupti_enter(&outer);
    mock_cupti_enter(&inner);
    mock_cupti_exit(&inner);
    mock_cupti_exit(&outer);
  }
  void allocate(std::uint64_t bytes) { memory_call(MockWork::Kind::allocation, bytes); }
  void release(std::uint64_t bytes) { memory_call(MockWork::Kind::release, bytes); }
  [[nodiscard]] long kernels() const { return kernels_; }

 private:
  void memory_call(MockWork::Kind kind, std::uint64_t bytes) {
    const std::uint32_t id = kind == MockWork::Kind::allocation ? CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020
                                                                : CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020;
    const MockCall call{true, id, ++correlation_};
    mock_cupti_enter(&call);
    const std::uint64_t now = now_ns();
    const MockWork work{.kind = kind, .start_ns = now, .end_ns = now, .correlation = call.correlation, .bytes = bytes};
    mock_cupti_work(&work);
    mock_cupti_exit(&call);
  }
  void run(const MockCall& call, MockWork work, std::uint64_t duration_ns) {
    mock_cupti_enter(&call);
    const std::uint64_t begin = now_ns();
    work.start_ns = std::max(begin + launch_ns_, free_at_ns_.load());
    work.end_ns = work.start_ns + duration_ns;
    free_at_ns_ = work.end_ns;
    spend_until(begin + launch_ns_);
    mock_cupti_work(&work);
    mock_cupti_exit(&call);
  }

  void load_injection() {
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    if (path == nullptr) return;
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "mock_program: %s\n", dlerror());
      std::exit(9);
    }
    reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  }

  std::uint64_t launch_ns_;
  std::atomic<std::uint64_t> free_at_ns_{0};
  std::atomic<std::uint32_t> correlation_{0};
  std::atomic<long> kernels_{0};
};

Script script_of(int count, char** words) {
  Script script;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto at = word.find('=');
    const std::string key = word.substr(0, at);
    const double value = at == std::string::npos ? 1 : std::atof(word.c_str() + at + 1);
    if (at == std::string::npos && std::atof(word.c_str()) > 0) script.seconds = std::atof(word.c_str());
    if (key == "kernels") script.kernels = static_cast<int>(value);
    if (key == "launch_us") script.launch_us = value;
    if (key == "kill_after") script.kill_after = value;
    if (key == "startup") script.startup = value;
    if (key == "exit") script.exit_code = static_cast<int>(value);
    if (key == "fork") script.fork = value != 0;
    if (key == "ranges") script.ranges = value != 0;
    if (key == "cuda") script.cuda = value != 0;
    if (key == "odd") script.odd = value != 0;
    if (key == "memory") script.memory = value != 0;
    if (key == "driver") script.driver = value != 0;
    if (key == "compiler") script.compiler = value != 0;
    if (key == "part") script.part = value != 0;
    if (key == "profiler_from") script.profiler_from = static_cast<long>(value);
    if (key == "profiler_to") script.profiler_to = static_cast<long>(value);
    if (key == "sleep_us") script.sleep_us = static_cast<int>(value);
  }
  return script;
}

/// No two kernels have the same name's address, which is what the recorder tells them apart by.
void start_up(Driver& driver, double seconds) {
  static const std::string text = [] {
    std::string names;
    for (int i = 0; i < 20'000; ++i) names += "start" + std::to_string(i) + '\0';
    return names;
  }();
  const std::uint64_t begin = now_ns();
  std::size_t at = 0;
  while (static_cast<double>(now_ns() - begin) * 1e-9 < seconds && at < text.size()) {
    driver.launch(text.c_str() + at, 5'000, true);
    at += std::strlen(text.c_str() + at) + 1;
    spend_until(now_ns() + 500'000);
  }
}

void step(Driver& driver, const Script& script, long number) {
  if (script.sleep_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(script.sleep_us));
  for (int i = 0; i < 3 && script.compiler; ++i) {
    nvtxRangePushA("XlaPass:#name=trip-count-of-iterations,module=jit_step#");
    nvtxRangePop();
  }
  if (script.ranges) nvtxRangePushA(("step " + std::to_string(number)).c_str());
  driver.copy(600'000);
  if (script.memory) driver.allocate(1 << 20);
  const auto launch_half = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      constexpr const char* kNames[] = {"_Z7forwardPfS_i", "gemm_128x128", "softmax_kernel"};
      const int shift = script.odd ? static_cast<int>(number * number * 7919 % 1009) * (i + 1) / 97 : 0;
      driver.launch(kNames[(i + shift) % 3], 5'000 + static_cast<std::uint64_t>(i % 7) * 1'000, i % 10 != 9);
    }
  };
  launch_half(0, script.kernels / 2);
  std::thread backward(launch_half, script.kernels / 2, script.kernels);
  backward.join();
  driver.launch("optimizer_step_kernel", 9'000, true);
  driver.wait();
  if (script.memory) driver.release(1 << 20);
  if (script.ranges) nvtxRangePop();
}

}  // namespace

int main(int count, char** words) {
  const Script script = script_of(count, words);
  if (!script.cuda) return script.exit_code;
  Driver driver(script.launch_us);
  driver.through_driver = script.driver;
  if (script.fork) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);  // runs the handlers that the recorder registered in its parent
    int status = 0;
    waitpid(child, &status, 0);
  }
  start_up(driver, script.startup);
  const std::uint64_t begin = now_ns();
  long steps = 0;
  while (static_cast<double>(now_ns() - begin) * 1e-9 < script.seconds) {
    if (steps == script.profiler_from) driver.profiler(true);
    if (steps == script.profiler_to) driver.profiler(false);
    const nvtxRangeId_t part = script.part ? nvtxRangeStartA("part") : 0;
    step(driver, script, steps++);
    if (script.part) nvtxRangeEnd(part);
    if (script.kill_after > 0 && static_cast<double>(now_ns() - begin) * 1e-9 > script.kill_after) raise(SIGKILL);
  }
  std::printf("%ld steps, %ld kernels\n", steps, driver.kernels());
  return script.exit_code;
}
