#include <warpmark/results.hpp>

#include <fmt/format.h>

#include <random>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "device/machine.h"
#include "exchange/import.h"
#include "generated/version.h"
#include "library/convert.h"
#include "model/json/json.h"

namespace warpmark::library {
namespace {

Result<Session> session_of(std::span<const v0::Measurement> measurements) {
  Session session;
  session.started = format_utc(wall_clock_s());
  session.id = fmt::format("{}-{:04x}", session.started, std::random_device{}() & 0xFFFFU);
  std::erase_if(session.id, [](char c) { return c == ':'; });
  session.command = "libwarpmark";
  session.complete = true;
  session.machine = device::machine_facts();
  session.build = {.version = generated::kVersion,
                   .git_sha = generated::kGitSha,
                   .git_dirty = generated::kGitDirty,
                   .compiler = generated::kCompiler,
                   .type = generated::kBuildType,
                   .features = {"library"}};
  for (const auto& measurement : measurements) {
    WM_ASSIGN(auto run, run_of(measurement));
    run.index = static_cast<std::int64_t>(session.runs.size());
    run.id = fmt::format("{}.{}", session.id, run.index);
    session.runs.push_back(std::move(run));
  }
  return session;
}

Result<std::string> written(const std::string& path, std::span<const v0::Measurement> measurements) {
  WM_ASSIGN(const auto session, session_of(measurements));
  WM_TRY(write_file(path, dump_json(to_json(session)) + "\n"));
  return path;
}

Result<std::vector<v0::Measurement>> read(const std::string& path) {
  WM_ASSIGN(const auto text, read_file(path));
  WM_ASSIGN(const auto document, exchange::open_document(path, text));
  WM_ASSIGN(const auto sessions, exchange::import_results(document, {.fallback_started = format_utc(wall_clock_s())}));
  std::vector<v0::Measurement> measurements;
  for (const auto& session : sessions) {
    for (const auto& run : session.runs) {
      if (!run.metrics.empty() && run.metrics.front().id == "time") measurements.push_back(to_public(run, 0));
    }
  }
  if (measurements.empty()) return data_error(path + " has no result with a time");
  return measurements;
}

}  // namespace
}  // namespace warpmark::library

namespace warpmark::v0 {

Result<std::string> write_results(const std::string& path, std::span<const Measurement> measurements) {
  auto done = library::written(path, measurements);
  if (!done.ok()) return library::to_public(done.error());
  return std::move(done).value();
}

Result<std::vector<Measurement>> read_results(const std::string& path) {
  auto done = library::read(path);
  if (!done.ok()) return library::to_public(done.error());
  return std::move(done).value();
}

}  // namespace warpmark::v0
