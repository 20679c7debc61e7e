// How fast a store is when it is full: store_speed FILE|URL [RESULTS]. Fills an empty store with RESULTS results
// (default 1 million) as years of CI would: sessions of 500 cases each, one a commit, on two machines,
// each result with 10 samples of its time. Then asks for series, and prints the times of the queries as a table.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/clock.h"
#include "base/json.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "store/location.h"

namespace {

using namespace warpmark;

constexpr std::int64_t kCases = 500;
constexpr int kQueries = 200;

double seconds_of(const std::function<void()>& work) {
  const std::int64_t begin = monotonic_ns();
  work();
  return static_cast<double>(monotonic_ns() - begin) * 1e-9;
}

/// Of this process: what a query costs where other programs keep the machine busy.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename T>
T checked(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().what.c_str());
  std::exit(1);
}

void checked(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().what.c_str());
  std::exit(1);
}

Run run_of(const Session& session, std::int64_t index, std::int64_t number) {
  Run run;
  run.id = session.id + "." + std::to_string(index);
  run.index = index;
  run.workload = "workload" + std::to_string(index % 50);
  run.params.set("size", std::int64_t{1} << (index / 50));
  run.params.set("dtype", std::string("f32"));
  run.device = "cpu";
  run.mode = Mode::cold;
  run.outcome = Outcome::passed;
  Metric time{.id = "time", .unit = "s", .better = Better::lower};
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto bits = stats::random_bits(static_cast<std::uint64_t>(number * kCases + index), i);
    time.samples.push_back(1e-3 * (1 + static_cast<double>(bits % 1000) * 1e-5));
  }
  time.round_sizes = {10};
  time.summary = stats::summarize(time.samples);
  run.metrics.push_back(std::move(time));
  run.rounds = 1;
  run.started = session.started;
  run.repro = "warpmark run " + run.workload;
  return run;
}

Session session_of(std::int64_t number) {
  Session session;
  char id[32];
  std::snprintf(id, sizeof(id), "s%08lld", static_cast<long long>(number));
  session.id = id;
  session.started = format_utc(1.7e9 + 3600.0 * static_cast<double>(number));
  session.command = "warpmark run";
  session.commit = session.id + "0123456789abcdef0123456789abcdef";
  session.branch = "main";
  session.machine = {.hostname = "node", .kernel = "6.1", .cpu = "Xeon"};  // known, so that results can be judged
  session.machine.devices.push_back({.id = "cpu", .backend = "cpu", .name = "Xeon", .compute_units = 8});
  session.machine.fingerprint = number % 2 == 0 ? "00112233445566aa" : "00112233445566bb";
  session.build.version = "0.1.0";
  return session;
}

void fill(store::Store& store, std::int64_t results) {
  const std::int64_t sessions = (results + kCases - 1) / kCases;
  double append_s = 0;
  for (std::int64_t number = 0; number < sessions; ++number) {
    const Session session = session_of(number);
    std::vector<Run> runs;
    for (std::int64_t index = 0; index < kCases; ++index) runs.push_back(run_of(session, index, number));
    append_s += seconds_of([&] {
      checked(store.begin(session));
      checked(store.append_runs(session.id, runs));
      checked(store.finish(session.id, {}));
    });
  }
  const auto count = static_cast<double>(sessions * kCases);
  std::printf("%.0f results in %lld sessions, stored at %.0f/s in transactions of %lld\n", count,
              static_cast<long long>(sessions), count / append_s, static_cast<long long>(kCases));
  const Session single = session_of(sessions);
  checked(store.begin(single));
  constexpr std::int64_t kSingle = 200;
  const double single_s = seconds_of([&] {
    for (std::int64_t index = 0; index < kSingle; ++index) {
      checked(store.append_run(single.id, run_of(single, index, sessions)));
    }
  });
  std::printf("one by one, each a transaction: %.0f/s\n\n", static_cast<double>(kSingle) / single_s);
}

void report(const char* name, const std::function<std::size_t(int)>& query) {
  std::vector<double> times, processor_times;
  std::size_t rows = 0;
  for (int i = 0; i < kQueries; ++i) {
    const double before_s = processor_s();
    times.push_back(seconds_of([&] { rows = query(i); }));
    processor_times.push_back(processor_s() - before_s);
  }
  const auto at = [](std::vector<double>& values, double p) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(p * (kQueries - 1))] * 1e3;
  };
  std::printf("| %-44s | %6zu | %8.2f | %8.2f | %8.2f | %8.2f |\n", name, rows, at(times, 0.5), at(times, 0.99),
              at(processor_times, 0.5), at(processor_times, 0.99));
}

store::RunQuery series(int i) {
  return {.workload = "workload" + std::to_string(i * 7 % 50), .params = {{"size", std::to_string(1 << i % 10)}}};
}

void ask(store::Store& store) {
  std::printf("| %-44s | %6s | %8s | %8s | %8s | %8s |\n", "query", "rows", "p50 ms", "p99 ms", "CPU p50", "CPU p99");
  std::printf("|---|---:|---:|---:|---:|---:|\n");
  report("one series, the newest 1000 points", [&](int i) { return checked(store.find(series(i))).size(); });
  report("one series, all points", [&](int i) {
    auto query = series(i);
    query.limit = 1'000'000;
    return checked(store.find(query)).size();
  });
  report("one series of a branch and a machine, 50", [&](int i) {
    auto query = series(i);
    query.branch = "main";
    query.fingerprint = "00112233445566aa";
    query.limit = 50;
    return checked(store.find(query)).size();
  });
  report("a workload in 10 sizes, the newest 1000",
         [&](int i) { return checked(store.find({.workload = "workload" + std::to_string(i % 50)})).size(); });
  report("workloads by a pattern, the newest 1000",
         [&](int) { return checked(store.find({.workload = "workload*"})).size(); });
  report("the newest 20 sessions", [&](int) { return checked(store.sessions({})).size(); });
}

}  // namespace

int main(int count, char** words) {
  const char* usage =
      "store_speed FILE|URL [RESULTS]   fills an empty store (default 1000000 results: 1.6 GB), then asks it";
  if (const auto code = bench::end_with_usage(count, words, usage, 1, 2)) return *code;
  const auto results = bench::count_at(2, count, words, 1'000'000);
  if (!results) return 2;
  const auto store = checked(store::open_store(words[1]));
  if (checked(store->sessions({.limit = 1})).empty()) fill(*store, *results);
  ask(*store);
}
