#include "profile/module/recorder.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "profile/module/unix_clock.h"
#include "profile/recording/format.h"

namespace warpmark::profile::module {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
constexpr std::size_t kAlignment = 8;  // of records, as CUPTI asks
constexpr std::size_t kMostFreeBuffers = 16;
constexpr auto kTick = std::chrono::milliseconds(20);  // a thread's ring holds the calls of many of these
constexpr std::int64_t kFlushNs = 500'000'000;
// CUPTI's own thread crashed when it was told to flush 30 us after records were switched on, and 20 ms after they were
// switched off while the program went on launching.
constexpr std::int64_t kSettleNs = 100'000'000;

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  current_recorder()->give_buffer(buffer, bytes, max_records);
}

void CUPTIAPI on_buffer_completed(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                                  std::size_t /*size*/, std::size_t valid_bytes) {
  current_recorder()->take_buffer(buffer, valid_bytes);
}

std::uint64_t CUPTIAPI timestamp() { return static_cast<std::uint64_t>(unix_ns()); }

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

bool read_options(const Setting& setting, RecorderOptions& options) {
  options.folder = setting("WARPMARK_RECORD_FOLDER");
  options.cupti = setting("WARPMARK_RECORD_CUPTI");
  const auto number = [&setting](const char* name, auto& value) {
    if (*setting(name) != '\0') value = static_cast<std::remove_reference_t<decltype(value)>>(std::atof(setting(name)));
  };
  number("WARPMARK_RECORD_DELAY", options.schedule.delay_s);
  number("WARPMARK_RECORD_DURATION", options.schedule.duration_s);
  number("WARPMARK_RECORD_WARMUP_STEPS", options.schedule.warmup_steps);
  number("WARPMARK_RECORD_STEPS", options.schedule.recorded_steps);
  number("WARPMARK_RECORD_WINDOWS", options.schedule.probes);
  options.schedule.captures = Capture::instance().is_on();
  options.graph_nodes = std::strcmp(setting("WARPMARK_RECORD_GRAPHS"), "whole") != 0;
  options.memory = std::strcmp(setting("WARPMARK_RECORD_MEMORY"), "1") == 0;
  options.waits = std::strcmp(setting("WARPMARK_RECORD_WAITS"), "1") == 0;
  return !options.folder.empty();
}

void Recorder::start() {
  owner_ = getpid();
  schedule_ = Schedule(options_.schedule);
  const std::string path = options_.folder + "/" + std::to_string(owner_) + ".wmrec";
  if (!writer_.open(path.c_str())) return;
  describe_process();
  const std::string problem = load_cupti(options_.cupti.c_str(), cupti_);
  if (!problem.empty()) return give_up({recording::kNoCupti, problem});
  describe_cupti();
  current_recorder() = this;
  native_stacks_.prepare(reinterpret_cast<const void*>(cupti_.Subscribe));
  cupti_.ActivityRegisterTimestampCallback(timestamp);
  if (const auto code = cupti_.ActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);
      code != CUPTI_SUCCESS) {
    return give_up({recording::kOtherProfiler, taken_text(code)});
  }
  writer_.flush();
  thread_ = std::thread([this] { run(); });
}

void Recorder::give_up(const Problem& problem) {
  write_problem(problem);
  writer_.close();
  mark_done();
  concluded_.store(true);
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
  Capture::instance().serve();
  RangeLog::instance().set_counting(schedule_.counts_steps() || options_.schedule.recorded_steps > 0);
  if (schedule_.counts_steps()) subscribe(true, false);
  if (Capture::instance().is_of_profiler_calls() && is_subscribed()) {
    const auto enable = [&](CUpti_CallbackDomain domain, const auto& calls) {
      for (const auto call : calls) cupti_.EnableCallback(1, subscriber_, domain, call);
    };
    enable(CUPTI_CB_DOMAIN_RUNTIME_API, profiler_calls());
    enable(CUPTI_CB_DOMAIN_DRIVER_API, driver_profiler_calls());
  }
  while (!stopping_.load(std::memory_order_acquire) && schedule_.phase() != Phase::done && problem_.text.empty()) {
    if (schedule_.advance(progress())) enter(schedule_.phase());
    flush_if_due();
    drain();
    if (schedule_.phase() == Phase::recording) Capture::instance().answer();
    if (schedule_.phase() != Phase::done) rest();
  }
  Capture::instance().answer();
  (void)schedule_.advance(progress());
  conclude();
}

void Recorder::rest() {
  if (Capture::instance().is_on()) return Capture::instance().wait_for_news();
  std::this_thread::sleep_for(kTick);
}

/// Never near to where records are switched on: a window has its first flush when it has gone on for a while, and the
/// work that outlived it is fetched in the middle of the plain window that follows.
void Recorder::flush_if_due() {
  const std::int64_t now = unix_ns();
  const bool recording = schedule_.phase() == Phase::recording;
  if (recording ? now - flushed_ns_ < kFlushNs : !outlived_ || now - flushed_ns_ < kSettleNs) return;
  cupti_.ActivityFlushAll(0);
  drain();
  writer_.flush();
  flushed_ns_ = now;
  outlived_ = false;
}

Progress Recorder::progress() {
  const std::int64_t now = unix_ns();
  const bool asked_for = options_.schedule.warmup_steps > 0 || options_.schedule.recorded_steps > 0;
  steps_.probe(now, history_, RangeLog::instance().steps(!asked_for), collecting_);
  Progress progress = steps_.progress();
  progress.elapsed_s = static_cast<double>(now - begin_ns_) * 1e-9;
  progress.part_begun = Capture::instance().has_begun();
  progress.part_ended = Capture::instance().has_ended();
  const auto window_ns = begin_ns_ + static_cast<std::int64_t>(schedule_.window_begin_s() * 1e9);
  progress.step_s = history_.step_ns(progress.step_launches, window_ns) * 1e-9;
  return progress;
}

void Recorder::enter(Phase phase) {
  const bool on = phase == Phase::recording || phase == Phase::probing;
  if (!on) settle();
  if (phase == Phase::recording && recorded_) forget_start_up();
  logging_.store(on, std::memory_order_relaxed);
  subscribe(on || phase == Phase::plain || (phase == Phase::waiting && schedule_.counts_steps()), on);
  if (phase == Phase::recording) {
    for (const std::string& gpu : gpu_facts()) writer_.metadata("gpu", gpu);
    translator_.begin_at(unix_ns());
    mark("recording_begin_ns");
  }
  const bool was_recording = collecting_ && !probing_;
  if (!on) end_window(was_recording);  // before it settles
  collect(on);
  outlived_ = !on && was_recording;
  if (on) {
    RangeLog::instance().set_recording(phase == Phase::recording);
    stacks_.notify(phase == Phase::recording ? StackPhase::recording : StackPhase::probing);
    native_stacks_.begin(phase == Phase::recording);
  }
  drain();  // what the phase before recorded
  recorded_ = recorded_ || phase == Phase::recording;
  probing_ = phase == Phase::probing;
  probed_ = phase != Phase::recording && (probed_ || probing_);
  translator_.discard(probed_);
  flushed_ns_ = unix_ns();
  schedule_.restart_window(progress());
}

/// Of all but CUPTI's records: `recorded` where they stay.
void Recorder::end_window(bool recorded) {
  RangeLog::instance().set_recording(false);
  stacks_.notify(StackPhase::off);
  native_stacks_.end();
  if (recorded) mark("recording_end_ns");
}

/// A short window goes on until records may be switched off: calls, too, or kernels would be there without them.
void Recorder::settle() {
  while (collecting_ && !stopping_.load() && unix_ns() - switched_ns_ < kSettleNs) {
    std::this_thread::sleep_for(kTick);
    drain();
  }
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

/// Becomes a subscriber if it is none yet.
bool Recorder::is_subscribed() {
  if (subscriber_ != nullptr) return true;
  const auto code = cupti_.Subscribe(&subscriber_, on_call, nullptr);
  if (code == CUPTI_SUCCESS) return true;
  subscriber_ = nullptr;
  if (is_taken(code)) problem_ = {recording::kOtherProfiler, taken_text(code)};
  refused_ += "callbacks (error " + std::to_string(code) + ") ";
  return false;
}

void Recorder::subscribe(bool launches, bool others) {
  if ((!launches && subscriber_ == nullptr) || !is_subscribed()) return;
  const auto enable = [&](bool on, CUpti_CallbackDomain domain, const auto& calls) {
    for (const auto call : calls) {
      cupti_.EnableCallback(on ? 1 : 0, subscriber_, domain, call);
    }
  };
  enable(launches, CUPTI_CB_DOMAIN_RUNTIME_API, launch_calls());
  enable(launches, CUPTI_CB_DOMAIN_DRIVER_API, driver_launches());
  enable(others, CUPTI_CB_DOMAIN_RUNTIME_API, other_calls());
  enable(others, CUPTI_CB_DOMAIN_DRIVER_API, other_driver_calls());
}

void Recorder::collect(bool on) {
  if (on == collecting_) return;
  collecting_ = on;
  while (!on && unix_ns() - switched_ns_ < kSettleNs) std::this_thread::sleep_for(kTick);  // the program ends early
  std::vector<CUpti_ActivityKind> kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_OVERHEAD};
  if (options_.memory) kinds.push_back(CUPTI_ACTIVITY_KIND_MEMORY2);
  if (options_.waits) kinds.push_back(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (!options_.graph_nodes) kinds.push_back(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (!on && !stopping_.load()) cupti_.ActivityFlushAll(0);  // as little as can be is left to be fetched afterwards
  for (const auto kind : kinds) {
    const auto code = on ? cupti_.ActivityEnable(kind) : cupti_.ActivityDisable(kind);
    if (!on || code == CUPTI_SUCCESS) continue;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && is_taken(code)) {
      problem_ = {recording::kOtherProfiler, taken_text(code)};
    }
    refused_ += (refused_.empty() ? "" : ", ") + std::to_string(kind) + " (error " + std::to_string(code) + ")";
  }
  switched_ns_ = unix_ns();
  if (on) return;
  // What still runs when a flush is forced is written by CUPTI into buffers that are ours again: only at the very end.
  while (!stopping_.load() && unix_ns() - switched_ns_ < kSettleNs) std::this_thread::sleep_for(kTick);
  cupti_.ActivityFlushAll(stopping_.load() ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void Recorder::drain() {
  if (Capture::instance().has_ended()) translator_.end_at(last_call_.load());
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
  native_stacks_.drain();
  calls_.drain([&](std::int64_t thread, const CallRecord& call) { translator_.add(thread, call); });
  for (const auto& range : RangeLog::instance().take()) translator_.add(range);
  if (!taken.empty()) writer_.flush();
}

void Recorder::call_ends(const CallRecord& call) {
  calls_.add(call);
  if (!Capture::instance().is_on()) return;
  std::uint32_t last = last_call_.load(std::memory_order_relaxed);
  while (last < call.correlation && !last_call_.compare_exchange_weak(last, call.correlation)) {
  }
}

/// CUPTI stays in the process with nothing switched on: taking it out (cuptiFinalize) crashed programs. We stay its
/// subscriber, too: threads may be within a call.
void Recorder::conclude() {
  logging_.store(false);
  RangeLog::instance().set_counting(false);
  end_window(collecting_ && !probing_);
  subscribe(false, false);
  collect(false);
  if (outlived_) cupti_.ActivityFlushAll(stopping_.load() ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  drain();
  std::size_t dropped = 0;
  cupti_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  const std::int64_t lost = static_cast<std::int64_t>(dropped) + calls_.lost() + RangeLog::instance().lost();
  writer_.metadata("dropped_records", std::to_string(lost));
  if (translator_.skipped() > 0) writer_.metadata("skipped_records", std::to_string(translator_.skipped()));
  if (Capture::instance().is_on()) writer_.metadata("captured_range", Capture::instance().name());
  if (!refused_.empty()) writer_.metadata("refused_kinds", refused_);
  describe_cost();
  describe_problem();
  writer_.finish();
  mark_done();
  concluded_.store(true);
}

/// For `--stop`: whoever started the program may end it now.
void Recorder::mark_done() const {
  const std::string path = options_.folder + "/." + std::to_string(owner_) + ".done";
  if (std::FILE* mark = std::fopen(path.c_str(), "w")) std::fclose(mark);
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
  writer_.metadata("inflation_residual_by", inflation.residual_assumed ? "experience" : "measurement");
  writer_.metadata("inflation_windows", std::to_string(inflation.windows));
}

void Recorder::describe_problem() {
  const Capture& capture = Capture::instance();
  if (!problem_.text.empty()) return write_problem(problem_);
  if (capture.is_on() && !capture.has_begun()) {
    write_problem({recording::kNoRange,
                   capture.is_of_profiler_calls()
                       ? "the program did not call cudaProfilerStart as often as was asked for"
                       : "no range called '" + capture.name() + "' began, or not as often as was asked for"});
  } else if (writer_.events_written() == 0) {
    write_problem({recording::kNoWork, recorded_ ? "the GPU did nothing while it was recorded"
                                                 : "the program ended before the recording began"});
  } else if (schedule_.steps_missed()) {
    write_problem({recording::kNoSteps, "no steps were found in what the program launched: recorded by time instead"});
  }
}

void Recorder::write_problem(const Problem& problem) {
  writer_.metadata("problem_id", problem.id);
  writer_.metadata("problem", problem.text);
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
