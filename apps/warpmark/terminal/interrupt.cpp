#include "warpmark/terminal/interrupt.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "warpmark/command.h"

namespace warpmark::apps {
namespace {

/// Signal handlers can reach only what lives as long as the program; this is all of it.
struct SignalState {
  std::atomic<bool> interrupted{false};
  std::atomic<int> count{0};
  std::atomic<bool> from_terminal{false};
  std::atomic<std::int64_t> grace_ms{900};
  sem_t arrived{};
  std::array<char, 512> on_interrupt{};
  std::array<char, 512> on_crash{};
  std::mutex leftovers_lock;
  const std::vector<std::filesystem::path>* leftovers = nullptr;
};

SignalState& state() {
  static SignalState instance;
  return instance;
}

void say(const char* text) {
  // The result is of no use: there is nobody left to tell.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void on_interrupt(int signal, siginfo_t* info, void*) {
  state().from_terminal.store(signal == SIGINT && info != nullptr && info->si_code == SI_KERNEL);
  state().interrupted.store(true);
  state().count.fetch_add(1);
  sem_post(&state().arrived);
}

void on_full_file(int) {}

void on_crash(int signal) {
  say("\n");
  say(state().on_crash.data());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Ends the program if it has not ended by itself within the grace after the signal.
void watch() {
  while (sem_wait(&state().arrived) != 0 && errno == EINTR) {
  }
  constexpr timespec kPause{0, 20'000'000};
  for (const std::int64_t came_ns = monotonic_ns(); monotonic_ns() - came_ns < state().grace_ms.load() * 1'000'000;) {
    nanosleep(&kPause, nullptr);
  }
  state().leftovers_lock.lock();  // for good: what is named there must stay until the end
  if (state().leftovers != nullptr) {
    for (const auto& file : *state().leftovers) ::unlink(file.c_str());
  }
  remove_scratch_folders();
  say(state().on_interrupt.data());
  ::_exit(kInterrupted);
}

void copy_text(std::array<char, 512>& into, const std::string& text) {
  const std::size_t length = std::min(text.size(), into.size() - 1);
  into[0] = '\0';  // a handler that runs meanwhile prints nothing rather than half a text
  std::copy_n(text.data() + 1, length > 0 ? length - 1 : 0, into.data() + 1);
  into[length] = '\0';
  if (length > 0) into[0] = text[0];
}

}  // namespace

std::atomic<bool>& interrupt_flag() { return state().interrupted; }

std::atomic<int>& interrupt_count() { return state().count; }

bool interrupt_from_terminal() { return state().from_terminal.load(); }

void handle_interrupts() {
  sem_init(&state().arrived, 0, 0);
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {
    return;  // no more threads are allowed: signals then end the program at once
  }
  struct sigaction action {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  for (const int signal : {SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup(1)
  }
  ::signal(SIGXFSZ, on_full_file);  // ulimit -f: the write fails and says why; ignored, it would be so in our children
  struct sigaction crash {};
  crash.sa_handler = on_crash;
  crash.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &crash, nullptr);
}

void set_grace(double seconds) { state().grace_ms.store(static_cast<std::int64_t>(seconds * 1000)); }

RemovedIfInterrupted::RemovedIfInterrupted(std::vector<std::filesystem::path> files) : files_(std::move(files)) {
  const std::lock_guard lock(state().leftovers_lock);
  state().leftovers = &files_;
}

RemovedIfInterrupted::~RemovedIfInterrupted() {
  const std::lock_guard lock(state().leftovers_lock);
  state().leftovers = nullptr;
}

void set_crash_messages(const std::string& on_interrupt_text, const std::string& on_crash_text) {
  copy_text(state().on_interrupt, on_interrupt_text);
  copy_text(state().on_crash, on_crash_text);
}

}  // namespace warpmark::apps
