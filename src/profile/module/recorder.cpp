#include "profile/module/recorder.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "profile/module/ranges.h"

namespace warpmark::profile::module {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
constexpr std::size_t kAlignment = 8;  // of records, as CUPTI asks
constexpr std::size_t kMostFreeBuffers = 16;
constexpr auto kTick = std::chrono::milliseconds(20);  // a thread's ring holds the calls of many of these
constexpr std::int64_t kFlushNs = 500'000'000;

constexpr std::array kLaunchCalls{
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,     CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,     CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};

/// Calls that move data, wait or allocate: with the launches, all that an analysis asks for. Recording every call of
/// the runtime costs several times as much.
constexpr std::array kOtherCalls{
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020,
};

constexpr std::array kDriverCalls{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
};

std::int64_t unix_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// CUPTI keeps a plain function pointer, so the recorder stands where that function can find it.
Recorder*& current() {
  static Recorder* recorder = nullptr;
  return recorder;
}

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  current()->give_buffer(buffer, bytes, max_records);
}

void CUPTIAPI on_buffer_completed(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                                  std::size_t /*size*/, std::size_t valid_bytes) {
  current()->take_buffer(buffer, valid_bytes);
}

bool is_launch(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return true;  // launches are all that we ask of it
  return std::find(kLaunchCalls.begin(), kLaunchCalls.end(), static_cast<int>(id)) != kLaunchCalls.end();
}

/// A number that is the same whenever the same kernel or graph is launched.
std::uint64_t what_is_launched(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (call.functionParams == nullptr) return id;
  const bool second = domain == CUPTI_CB_DOMAIN_DRIVER_API
                          ? id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx
                          : id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060 ||
                                id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060;  // after the sizes
  std::uint64_t handle = 0;  // the first or second argument of every launch is a pointer
  std::memcpy(&handle, static_cast<const char*>(call.functionParams) + (second ? sizeof handle : 0), sizeof handle);
  return handle ^ (static_cast<std::uint64_t>(id) << 48U);
}

/// A launch through the runtime launches through the driver: one of the two is enough, and costs less.
bool is_inner_launch(CUpti_CallbackDomain domain, CUpti_ApiCallbackSite site) {
  thread_local bool in_runtime = false;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return in_runtime;
  in_runtime = site == CUPTI_API_ENTER;
  return false;
}

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (is_inner_launch(domain, call.callbackSite)) return;
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (is_launch(domain, id)) current()->launches(what_is_launched(domain, id, call));
    current()->call_begins(*call.correlationData);
  } else {
    current()->call_ends(*call.correlationData, domain == CUPTI_CB_DOMAIN_RUNTIME_API, id, call.correlationId);
  }
}

std::uint64_t CUPTIAPI timestamp() { return static_cast<std::uint64_t>(unix_ns()); }

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool options_from_environment(RecorderOptions& options) {
  options.folder = variable("WARPMARK_RECORD_FOLDER");
  options.cupti = variable("WARPMARK_RECORD_CUPTI");
  const auto number = [](const char* name, auto& value) {
    if (*variable(name) != '\0')
      value = static_cast<std::remove_reference_t<decltype(value)>>(std::atof(variable(name)));
  };
  number("WARPMARK_RECORD_DELAY", options.schedule.delay_s);
  number("WARPMARK_RECORD_DURATION", options.schedule.duration_s);
  number("WARPMARK_RECORD_WARMUP_STEPS", options.schedule.warmup_steps);
  number("WARPMARK_RECORD_STEPS", options.schedule.recorded_steps);
  number("WARPMARK_RECORD_WINDOWS", options.schedule.probes);
  options.graph_nodes = std::strcmp(variable("WARPMARK_RECORD_GRAPHS"), "whole") != 0;
  options.memory = std::strcmp(variable("WARPMARK_RECORD_MEMORY"), "1") == 0;
  options.waits = std::strcmp(variable("WARPMARK_RECORD_WAITS"), "1") == 0;
  return !options.folder.empty();
}

void Recorder::start() {
  owner_ = getpid();
  schedule_ = Schedule(options_.schedule);
  const std::string path = options_.folder + "/" + std::to_string(owner_) + ".wmrec";
  if (!writer_.open(path.c_str())) return;
  describe_process();
  const std::string problem = load_cupti(options_.cupti.c_str(), cupti_);
  if (!problem.empty()) {
    writer_.metadata("problem", problem);
    writer_.close();
    return;
  }
  describe_cupti();
  current() = this;
  cupti_.ActivityRegisterTimestampCallback(timestamp);
  if (const auto code = cupti_.ActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);
      code != CUPTI_SUCCESS) {
    writer_.metadata("problem", taken_text(code));
    writer_.close();
    return;
  }
  writer_.flush();
  thread_ = std::thread([this] { run(); });
}

void Recorder::describe_process() {
  writer_.metadata("process", std::to_string(owner_));
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) writer_.metadata("host", host.data());
  for (const auto& [key, name] : {std::pair{"rank", "RANK"}, std::pair{"world_size", "WORLD_SIZE"}}) {
    if (*variable(name) != '\0') writer_.metadata(key, variable(name));
  }
}

void Recorder::describe_cupti() {
  std::uint32_t version = 0;
  cupti_.GetVersion(&version);
  writer_.metadata("cupti", std::to_string(version) + " " + cupti_.path);
}

void Recorder::run() {
  begin_ns_ = unix_ns();
  std::int64_t flushed = begin_ns_;
  RangeLog::instance().set_counting(schedule_.counts_steps() || options_.schedule.recorded_steps > 0);
  if (schedule_.counts_steps()) subscribe(true, false);
  while (!stopping_.load(std::memory_order_acquire) && schedule_.phase() != Phase::done && problem_.empty()) {
    if (schedule_.advance(progress())) enter(schedule_.phase());
    const std::int64_t now = unix_ns();
    if (collecting_ && now - flushed >= kFlushNs) {
      cupti_.ActivityFlushAll(0);
      drain();
      writer_.flush();
      flushed = now;
    }
    drain();
    if (schedule_.phase() != Phase::done) std::this_thread::sleep_for(kTick);
  }
  (void)schedule_.advance(progress());
  conclude();
}

Progress Recorder::progress() {
  const std::int64_t now = unix_ns();
  const bool asked_for = options_.schedule.warmup_steps > 0 || options_.schedule.recorded_steps > 0;
  steps_.look(now, history_, RangeLog::instance().steps(!asked_for), collecting_);
  Progress progress = steps_.progress();
  progress.elapsed_s = static_cast<double>(now - begin_ns_) * 1e-9;
  return progress;
}

void Recorder::enter(Phase phase) {
  const bool on = phase == Phase::recording || phase == Phase::probing;
  if (phase == Phase::recording && recorded_) forget_start_up();
  logging_.store(on, std::memory_order_relaxed);
  subscribe(on || phase == Phase::plain || (phase == Phase::waiting && schedule_.counts_steps()), on);
  if (phase == Phase::recording) mark("recording_begin_ns");
  const bool was_recording = collecting_ && !probing_;
  collect(on);
  if (!on && was_recording) mark("recording_end_ns");
  RangeLog::instance().set_recording(phase == Phase::recording);
  drain();  // what the phase before recorded
  recorded_ = recorded_ || phase == Phase::recording;
  probing_ = phase == Phase::probing;
  translator_.discard(probing_);
  schedule_.restart_window(progress());
}

/// Steps have begun to repeat since the window that was recorded: that was start-up.
void Recorder::forget_start_up() {
  translator_.discard(true);
  drain();
  translator_.discard(false);
  translator_.forget();
  writer_.begin_anew();
  describe_process();
  describe_cupti();
  writer_.metadata("recorded_again", std::to_string(schedule_.repeated()));
}

void Recorder::mark(const char* key) { writer_.metadata(key, std::to_string(unix_ns())); }

void Recorder::subscribe(bool launches, bool other_calls) {
  if (!launches && subscriber_ != nullptr) {
    cupti_.Unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  if (!launches) return;
  if (subscriber_ == nullptr) {
    if (const auto code = cupti_.Subscribe(&subscriber_, on_call, nullptr); code != CUPTI_SUCCESS) {
      subscriber_ = nullptr;
      if (is_taken(code)) problem_ = taken_text(code);
      refused_ += "callbacks (error " + std::to_string(code) + ") ";
      return;
    }
  }
  const auto enable = [&](bool on, CUpti_CallbackDomain domain, const auto& calls) {
    for (const auto call : calls) {
      cupti_.EnableCallback(on ? 1 : 0, subscriber_, domain, static_cast<CUpti_CallbackId>(call));
    }
  };
  enable(true, CUPTI_CB_DOMAIN_RUNTIME_API, kLaunchCalls);
  enable(true, CUPTI_CB_DOMAIN_DRIVER_API, kDriverCalls);
  enable(other_calls, CUPTI_CB_DOMAIN_RUNTIME_API, kOtherCalls);
}

void Recorder::collect(bool on) {
  if (on == collecting_) return;
  collecting_ = on;
  std::vector<CUpti_ActivityKind> kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_OVERHEAD};
  if (options_.memory) kinds.push_back(CUPTI_ACTIVITY_KIND_MEMORY2);
  if (options_.waits) kinds.push_back(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (!options_.graph_nodes) kinds.push_back(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  for (const auto kind : kinds) {
    const auto code = on ? cupti_.ActivityEnable(kind) : cupti_.ActivityDisable(kind);
    if (!on || code == CUPTI_SUCCESS) continue;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && is_taken(code)) problem_ = taken_text(code);
    refused_ += (refused_.empty() ? "" : ", ") + std::to_string(kind) + " (error " + std::to_string(code) + ")";
  }
  if (on) return;
  // What still runs when a flush is forced is written by CUPTI into buffers that are ours again: only at the very end.
  if (!stopping_.load()) std::this_thread::sleep_for(kTick);
  cupti_.ActivityFlushAll(stopping_.load() ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void Recorder::drain() {
  std::vector<Filled> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(filled_);
  }
  for (const auto& [buffer, valid_bytes] : taken) {
    CUpti_Activity* record = nullptr;
    while (cupti_.ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) translator_.add(*record);
    const std::lock_guard lock(mutex_);
    if (free_.size() < kMostFreeBuffers) {
      free_.push_back(buffer);
    } else {
      std::free(buffer);
    }
  }
  calls_.drain([&](std::int64_t thread, const CallRecord& call) { translator_.add(thread, call); });
  for (const auto& range : RangeLog::instance().take()) translator_.add(range);
  if (!taken.empty()) writer_.flush();
}

void Recorder::call_begins(std::uint64_t& start) {
  if (logging_.load(std::memory_order_relaxed)) start = static_cast<std::uint64_t>(unix_ns());
}

void Recorder::call_ends(std::uint64_t start, bool runtime, std::uint32_t call, std::uint32_t correlation) {
  if (start == 0 || !logging_.load(std::memory_order_relaxed)) return;
  calls_.add({static_cast<std::int64_t>(start), unix_ns(), call, correlation, runtime});
}

/// CUPTI stays in the process with nothing switched on: taking it out (cuptiFinalize) crashed programs.
void Recorder::conclude() {
  logging_.store(false);
  RangeLog::instance().set_recording(false);
  subscribe(false, false);
  const bool was_recording = collecting_ && !probing_;
  collect(false);
  if (was_recording) mark("recording_end_ns");
  drain();
  std::size_t dropped = 0;
  cupti_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  const std::int64_t lost = static_cast<std::int64_t>(dropped) + calls_.lost() + RangeLog::instance().lost();
  writer_.metadata("dropped_records", std::to_string(lost));
  if (translator_.skipped() > 0) writer_.metadata("skipped_records", std::to_string(translator_.skipped()));
  if (!refused_.empty()) writer_.metadata("refused_kinds", refused_);
  describe_cost();
  describe_problem();
  writer_.finish();
}

void Recorder::describe_cost() {
  for (const auto& [key, phase] : {std::pair{"launches_per_second_plain", Phase::plain},
                                   std::pair{"launches_per_second_recorded", Phase::recording}}) {
    if (schedule_.rate(phase) > 0) writer_.metadata(key, std::to_string(schedule_.rate(phase)));
  }
  if (const auto length = steps_.progress().step_launches; length > 0) {
    writer_.metadata("launches_per_step", std::to_string(length));
    writer_.metadata("steps_found_by", steps_.found_by());
  }
  const Inflation inflation = schedule_.inflation();
  if (inflation.typical < 0) return;
  writer_.metadata("inflation", std::to_string(inflation.typical));
  writer_.metadata("inflation_low", std::to_string(inflation.low));
  writer_.metadata("inflation_high", std::to_string(inflation.high));
  writer_.metadata("inflation_residual", std::to_string(inflation.residual));
  writer_.metadata("inflation_windows", std::to_string(inflation.windows));
}

void Recorder::describe_problem() {
  if (problem_.empty() && writer_.events_written() == 0) {
    problem_ = recorded_ ? "the GPU did nothing while it was recorded" : "the program ended before the recording began";
  } else if (problem_.empty() && schedule_.steps_missed()) {
    problem_ = "no steps were found in what the program launched: recorded by time instead";
  }
  if (!problem_.empty()) writer_.metadata("problem", problem_);
}

void Recorder::stop() {
  if (owner_ != getpid() || stopping_.exchange(true)) return;
  if (thread_.joinable()) thread_.join();
}

void Recorder::give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = nullptr;
  *bytes = kBufferBytes;
  *max_records = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      *buffer = free_.back();
      free_.pop_back();
    }
  }
  if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  if (*buffer == nullptr) *bytes = 0;
}

void Recorder::take_buffer(std::uint8_t* buffer, std::size_t valid_bytes) {
  const std::lock_guard lock(mutex_);
  if (valid_bytes > 0) {
    filled_.push_back({buffer, valid_bytes});
  } else {
    free_.push_back(buffer);
  }
}

}  // namespace warpmark::profile::module
