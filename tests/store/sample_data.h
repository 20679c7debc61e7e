// Sessions and runs for the store's tests, and a folder that goes with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/json/json.h"
#include "model/run.h"

namespace warpmark::store {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-store-XXXXXX").string();
    WM_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path file() const { return path_ / "warpmark.db"; }

 private:
  std::filesystem::path path_;
};

inline Session sample_session(std::string id, std::string started = "2026-03-01T12:00:00Z") {
  Session session;
  session.id = std::move(id);
  session.started = std::move(started);
  session.command = "warpmark run gemm --set 'm=8'";
  session.commit = "0123456789abcdef";
  session.branch = "main";
  session.dirty = true;
  session.machine.hostname = "node7";
  session.machine.fingerprint = "00112233445566aa";
  session.machine.devices.push_back({.id = "cpu", .backend = "cpu", .name = "a CPU"});
  session.build.version = "0.1.0";
  return session;
}

inline Metric sample_metric(std::string id, std::vector<double> samples) {
  Metric metric{.id = std::move(id), .unit = "s", .better = Better::lower, .samples = std::move(samples)};
  metric.round_sizes = {static_cast<std::int64_t>(metric.samples.size())};
  metric.summary.n = static_cast<std::int64_t>(metric.samples.size());
  metric.summary.median = metric.samples.at(metric.samples.size() / 2);
  metric.summary.median_interval = Interval{metric.samples.front(), metric.samples.back(), 0.96};
  return metric;
}

inline Run sample_run(const std::string& session, std::int64_t index, std::string workload = "gemm") {
  Run run;
  run.id = session + "." + std::to_string(index);
  run.index = index;
  run.workload = std::move(workload);
  run.params.set("m", std::int64_t{1024});
  run.params.set("dtype", std::string("f32"));
  run.device = "cpu";
  run.mode = Mode::cold;
  run.outcome = Outcome::passed;
  run.metrics = {sample_metric("time", {0.1, 1.0 / 3.0, 1e-300}), sample_metric("energy", {5, 6, 7, 8})};
  run.error = ErrorCheck{1e-7, 1e-5, "relative Frobenius norm", "fp64 loop"};
  run.rounds = 1;
  run.seed = 0xFFFFFFFFFFFFFFFFULL;
  run.notes = {{"algorithm", "blocked \"8x8\" \xC3\xA9"}};
  run.repro = "warpmark run gemm";
  return run;
}

inline std::string text_of(const Run& run) { return dump_json(to_json(run)); }

}  // namespace warpmark::store
