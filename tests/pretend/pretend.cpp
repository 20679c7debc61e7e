// Loaded before the C library (LD_PRELOAD) into the tests and all they start, this makes one machine look like another:
// other caches, more CPUs, a clock that is slow to read or that jumps. Nothing of warpmark knows of it, so that what is
// tested is what runs. tests/pretend/run.sh sets it up; `./dev pretend` is the command.
//
//   PRETEND_ROOT   folder with sys/devices/system/cpu and proc/cpuinfo that are read instead of the machine's
//   PRETEND_CPUS   this many CPUs may be used
//   PRETEND_CLOCK  slow: a reading takes 20 us. jumping: as on a virtual machine that is suspended for 0.3 s in each
//                  second; every ten seconds somebody sets the wall clock forward by an hour.
//   PRETEND_START  monotonic time in ns when it began, so that all processes share one clock
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <pthread.h>
#include <time.h>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// --- files ---

bool is_pretended(std::string_view path) {
  return path.starts_with("/sys/devices/system/cpu") || path.starts_with("/sys/devices/system/node") ||
         path == "/proc/cpuinfo";
}

/// A path of the pretended machine, or the one that was asked for.
std::string redirected(const char* path) {
  static const char* const kRoot = std::getenv("PRETEND_ROOT");
  if (path == nullptr || kRoot == nullptr || *kRoot == '\0' || !is_pretended(path)) return path == nullptr ? "" : path;
  return std::string(kRoot) + path;
}

// --- CPUs ---

int pretended_cpus() {
  static const char* const kText = std::getenv("PRETEND_CPUS");
  static const int kCpus = kText == nullptr ? 0 : std::atoi(kText);
  return kCpus;
}

void fill_mask(std::size_t bytes, cpu_set_t* mask) {
  CPU_ZERO_S(bytes, mask);
  for (int cpu = 0; cpu < pretended_cpus(); ++cpu) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask);
}

// --- clocks ---

enum class Clock { real, slow, jumping };

Clock pretended_clock() {
  static const char* const kText = std::getenv("PRETEND_CLOCK");
  static const Clock kClock = kText == nullptr                       ? Clock::real
                              : std::string_view(kText) == "slow"    ? Clock::slow
                              : std::string_view(kText) == "jumping" ? Clock::jumping
                                                                     : Clock::real;
  return kClock;
}

using ClockGettime = int(clockid_t, timespec*);

int real_gettime(clockid_t id, timespec* now) {
  static ClockGettime* const kReal = next<ClockGettime>("clock_gettime");
  return kReal(id, now);
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

timespec timespec_of(std::int64_t ns) { return {ns / kSecond, ns % kSecond}; }

std::int64_t real_monotonic_ns() {
  timespec now{};
  real_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

/// Whole seconds since the pretending began.
std::int64_t seconds_pretended() {
  static const char* const kText = std::getenv("PRETEND_START");
  static const std::int64_t kStart = kText == nullptr ? real_monotonic_ns() : std::atoll(kText);
  return std::max<std::int64_t>(0, real_monotonic_ns() - kStart) / kSecond;
}

/// What the pretended clock is ahead of the real one.
std::int64_t ahead_ns(clockid_t id) {
  if (pretended_clock() != Clock::jumping) return 0;
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) return seconds_pretended() / 10 * 3600 * kSecond;
  if (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME) {
    return seconds_pretended() * kSecond * 3 / 10;
  }
  return 0;  // the CPU time of processes and threads
}

timespec real_deadline(clockid_t id, const timespec& pretended) {
  return timespec_of(std::max<std::int64_t>(0, nanoseconds(pretended) - ahead_ns(id)));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  static auto* const kReal = next<int(const char*, int, ...)>("open");
  return kReal(redirected(path).c_str(), flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  static auto* const kReal = next<int(const char*, int, ...)>("open64");
  return kReal(redirected(path).c_str(), flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  static auto* const kReal = next<FILE*(const char*, const char*)>("fopen");
  return kReal(redirected(path).c_str(), mode);
}

FILE* fopen64(const char* path, const char* mode) {
  static auto* const kReal = next<FILE*(const char*, const char*)>("fopen64");
  return kReal(redirected(path).c_str(), mode);
}

int sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* mask) noexcept {
  static auto* const kReal = next<int(pid_t, std::size_t, cpu_set_t*)>("sched_getaffinity");
  if (pretended_cpus() == 0) return kReal(pid, bytes, mask);
  fill_mask(bytes, mask);
  return 0;
}

int pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* mask) noexcept {
  static auto* const kReal = next<int(pthread_t, std::size_t, cpu_set_t*)>("pthread_getaffinity_np");
  if (pretended_cpus() == 0) return kReal(thread, bytes, mask);
  fill_mask(bytes, mask);
  return 0;
}

// The CPUs that are not there cannot be chosen, and a choice of those that are there would contradict the others.
int sched_setaffinity(pid_t pid, std::size_t bytes, const cpu_set_t* mask) noexcept {
  static auto* const kReal = next<int(pid_t, std::size_t, const cpu_set_t*)>("sched_setaffinity");
  return pretended_cpus() == 0 ? kReal(pid, bytes, mask) : 0;
}

int pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* mask) noexcept {
  static auto* const kReal = next<int(pthread_t, std::size_t, const cpu_set_t*)>("pthread_setaffinity_np");
  return pretended_cpus() == 0 ? kReal(thread, bytes, mask) : 0;
}

long sysconf(int name) noexcept {
  static auto* const kReal = next<long(int)>("sysconf");
  if (pretended_cpus() > 0 && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return pretended_cpus();
  return kReal(name);
}

int get_nprocs() noexcept {
  static auto* const kReal = next<int()>("get_nprocs");
  return pretended_cpus() > 0 ? pretended_cpus() : kReal();
}

int clock_gettime(clockid_t id, timespec* now) noexcept {
  const int result = real_gettime(id, now);
  if (result != 0) return result;
  if (pretended_clock() == Clock::slow) {
    const std::int64_t until = real_monotonic_ns() + 20'000;
    while (real_monotonic_ns() < until) {
    }
  }
  if (const std::int64_t ahead = ahead_ns(id); ahead != 0) *now = timespec_of(nanoseconds(*now) + ahead);
  return 0;
}

// What waits until a time of the pretended clock waits for as long on the real one.
int clock_nanosleep(clockid_t id, int flags, const timespec* request, timespec* remain) {
  static auto* const kReal = next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  if ((flags & TIMER_ABSTIME) == 0) return kReal(id, flags, request, remain);
  const timespec deadline = real_deadline(id, *request);
  return kReal(id, flags, &deadline, remain);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t id, const timespec* until) {
  static auto* const kReal =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  const timespec deadline = real_deadline(id, *until);
  return kReal(condition, mutex, id, &deadline);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static auto* const kReal = next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  const timespec deadline = real_deadline(CLOCK_REALTIME, *until);
  return kReal(condition, mutex, &deadline);
}

}  // extern "C"
