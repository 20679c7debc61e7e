#include "workers/lab_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"

namespace warpmark::workers {
namespace {

namespace fs = std::filesystem;

constexpr auto kPoll = std::chrono::milliseconds(2);
constexpr std::int64_t kLargestAnswer = 64 << 20;

/// A point in time, from now.
std::int64_t after_ns(double seconds) {
  return monotonic_ns() + static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9);
}

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

/// The variant whose settings were on when the process ended.
std::int64_t variant_in_progress(const fs::path& file) {
  const auto text = read_file(file, kLargestAnswer);
  if (!text.ok()) return -1;
  const auto json = parse_json(*text, file.string());
  return json.ok() && json->is_object() && json->contains("variant") ? json->value("variant", std::int64_t{-1}) : -1;
}

}  // namespace

/// The program, and the thread that waits for it.
struct LabProcess::Process {
  std::atomic<bool> stop = false, ended = false;
  std::optional<Result<HookedRun>> result;
  std::thread thread;
};

LabProcess::LabProcess(HookedCommand command, const fs::path& hook, fs::path scratch,
                       const std::atomic<bool>* interrupted)
    : scratch_(std::move(scratch)), interrupted_(interrupted), process_(std::make_unique<Process>()) {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  command.plan.lab = lab().string();
  command.deadline_s = 365 * 86400.0;  // the questions have deadlines
  command.interrupted = &process_->stop;
  process_->thread = std::thread([this, command = std::move(command), hook] {
    const Status made = make_folder(lab());
    process_->result = made.ok() ? run_hooked(command, hook, scratch_ / "run") : Result<HookedRun>(made.error());
    process_->ended.store(true);
  });
}

LabProcess::~LabProcess() {
  process_->stop.store(true);
  if (process_->thread.joinable()) process_->thread.join();
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

fs::path LabProcess::lab() const { return scratch_ / "lab"; }

bool LabProcess::ended() const { return process_->ended.load(); }

std::size_t LabProcess::count(const char* prefix) const {
  std::size_t found = 0;
  std::error_code failure;
  for (fs::directory_iterator entry(lab(), failure), end; !failure && entry != end; entry.increment(failure)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".json")) ++found;
  }
  return found;
}

bool LabProcess::heard() const {
  std::error_code failure;
  for (fs::directory_iterator entry(scratch_ / "run", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".jsonl") return true;
  }
  return false;
}

bool LabProcess::await_ready(double deadline_s, double unheard_s) {
  const auto late_ns = after_ns(deadline_s), unheard_ns = after_ns(unheard_s);
  while (!ended() && !is_set(interrupted_)) {
    if (count("ready-") > 0) {
      const auto text = read_file(lab() / "ready-0.json", kLargestAnswer);
      const auto json = text.ok() ? parse_json(*text, "ready-0.json") : Result<Json>(text.error());
      if (json.ok() && json->is_object()) {
        ranks_ = static_cast<std::size_t>(std::max<std::int64_t>(1, json->value("world", std::int64_t{1})));
        if (count("ready-") >= ranks_) return true;
      }
    }
    const auto now_ns = monotonic_ns();
    if (now_ns > late_ns || (now_ns > unheard_ns && !heard())) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

Result<std::string> LabProcess::reports() const { return collect_reports(scratch_ / "run"); }

Result<Json> LabProcess::ask(const Json& command, double deadline_s) {
  const int number = commands_++;
  const auto file = lab() / fmt::format("command-{}.json", number);
  WM_TRY(write_file(file.string() + ".part", dump_json(command, -1)));
  std::error_code failure;
  fs::rename(file.string() + ".part", file, failure);
  if (failure) return environment_error("cannot write " + file.string() + ": " + failure.message());
  const auto prefix = fmt::format("answer-{}-", number);
  const auto late_ns = after_ns(deadline_s);
  while (count(prefix.c_str()) < ranks_) {
    if (is_set(interrupted_)) return environment_error("interrupted");
    const bool late = monotonic_ns() > late_ns;
    if (late || ended()) {
      const auto variant = variant_in_progress(lab() / "working-0.json");
      process_->stop.store(true);
      return Json{{"crashed", late ? "late" : "ended"}, {"variant", variant}};
    }
    std::this_thread::sleep_for(kPoll);
  }
  Json answers = Json::array();
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const auto path = lab() / fmt::format("answer-{}-{}.json", number, rank);
    WM_ASSIGN(const auto text, read_file(path, kLargestAnswer));
    WM_ASSIGN(auto answer, parse_json(text, path.filename().string()));
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<HookedRun> LabProcess::end() {
  if (!ended()) process_->stop.store(true);
  process_->thread.join();
  return std::move(*process_->result);
}

}  // namespace warpmark::workers
