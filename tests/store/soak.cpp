#include "soak.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "in_child.h"
#include "sample_data.h"
#include "store/location.h"

namespace warpmark::store {
namespace {

constexpr int kSoakWriters = 2;

/// Seen by all processes.
struct Board {
  std::array<std::atomic<std::int64_t>, kSoakWriters> acknowledged;
  std::atomic<std::int64_t> reads;
  std::atomic<bool> has_problem;
  std::array<char, 500> problem;

  void complain(const std::string& what) {
    if (has_problem.exchange(true)) return;
    std::strncpy(problem.data(), what.c_str(), problem.size() - 1);
  }
};

Board* shared_board() {
  void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  WM_CHECK(memory != MAP_FAILED);
  return new (memory) Board{};
}

struct Soak {
  std::string location;
  std::int64_t end_ns = 0;
  std::int64_t runs_per_session = 0;
  Board* board = nullptr;

  [[nodiscard]] bool goes_on() const { return monotonic_ns() < end_ns && !board->has_problem; }
};

std::string session_id(int writer, std::int64_t number) {
  return "writer" + std::to_string(writer) + "-" + std::to_string(number);
}

Status write_session(Store& store, const std::string& id, const Soak& soak, int writer) {
  WM_TRY(store.begin(sample_session(id, format_utc(wall_clock_s()))));
  for (std::int64_t index = 0; index < soak.runs_per_session && soak.goes_on(); ++index) {
    WM_TRY(store.append_round(id, sample_run(id, index), 0));
    WM_TRY(store.append_run(id, sample_run(id, index)));
    ++soak.board->acknowledged[static_cast<std::size_t>(writer)];
  }
  return store.finish(id, {});
}

int write_sessions(const Soak& soak, int writer) {
  const auto store = open_store(soak.location);
  Status status = store.ok() ? Status() : Status(store.error());
  for (std::int64_t number = 0; status.ok() && soak.goes_on(); ++number) {
    status = write_session(**store, session_id(writer, number), soak, writer);
  }
  if (!status.ok()) soak.board->complain("writer: " + status.error().what);
  return status.ok() ? 0 : 1;
}

Status check_runs(const std::vector<Run>& runs, const std::string& id) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (text_of(runs[i]) == text_of(sample_run(id, static_cast<std::int64_t>(i)))) continue;
    return data_error("run " + std::to_string(i) + " of " + id + " is not what was written");
  }
  return {};
}

Status read_once(Store& store) {
  WM_ASSIGN(const auto sessions, store.sessions({.limit = 3}));
  WM_ASSIGN(const auto points, store.find({.metric = "time", .limit = 100}));
  if (sessions.empty()) return {};
  WM_ASSIGN(const auto stored, store.load(sessions.back().id));
  if (stored.session.runs.size() > 2 && points.empty()) return data_error("there are runs and no points");
  return check_runs(stored.session.runs, stored.session.id);
}

int read_all_the_time(const Soak& soak) {
  const auto store = open_store(soak.location);
  Status status = store.ok() ? Status() : Status(store.error());
  do {  // at least once, however short the time
    if (status.ok()) status = read_once(**store);
    if (status.ok()) ++soak.board->reads;
  } while (status.ok() && soak.goes_on());
  if (!status.ok()) soak.board->complain("reader: " + status.error().what);
  return status.ok() ? 0 : 1;
}

Status count_all(const Soak& soak, std::int64_t& found) {
  WM_ASSIGN(const auto store, open_store(soak.location));
  WM_ASSIGN(const auto sessions, store->sessions({.limit = std::numeric_limits<std::int64_t>::max()}));
  for (const auto& session : sessions) {
    WM_ASSIGN(const auto stored, store->load(session.id));
    WM_TRY(check_runs(stored.session.runs, session.id));
    if (!stored.unmerged_rounds.empty()) return data_error("a round of " + session.id + " is left over");
    found += static_cast<std::int64_t>(stored.session.runs.size());
  }
  return {};
}

}  // namespace

SoakResult soak(const std::string& location, double seconds, std::int64_t runs_per_session) {
  Board* const board = shared_board();
  const Soak soak{location, monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9), runs_per_session, board};
  std::vector<pid_t> children;
  for (int writer = 0; writer < kSoakWriters; ++writer) {
    children.push_back(start_child([&] { return write_sessions(soak, writer); }));
  }
  children.push_back(start_child([&] { return read_all_the_time(soak); }));
  for (const pid_t child : children) {
    const int code = wait_for(child);
    if (code != 0) board->complain("a process ended with " + std::to_string(code));
  }
  SoakResult result;
  const Status counted = count_all(soak, result.found);
  if (!counted.ok()) board->complain(counted.error().what);
  for (const auto& count : board->acknowledged) result.acknowledged += count;
  result.reads = board->reads;
  result.problem = board->problem.data();
  ::munmap(board, sizeof(Board));
  return result;
}

}  // namespace warpmark::store
