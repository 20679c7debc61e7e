#include "workloads/models/model_cross_check.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/subprocess.h"
#include "profile/collectors/record_program.h"
#include "profile/read_session.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;

constexpr double kStrays = 0.01;       // of the launches: what a library launches once in a while
constexpr double kSpanAgrees = 0.02;   // the GPU's span and the worker's window
constexpr double kSpanSlack_s = 5e-3;  // and what waiting for an idle GPU and two clocks may differ by
constexpr double kBusyAgrees = 0.1;    // clocks of a GPU move, and CUPTI lengthens short kernels
constexpr double kDeadline_s = 120;    // loading CUPTI, and steps that it makes slower
constexpr double kLongest_s = 10;      // of steps under the recorder
constexpr std::int64_t kFewSteps = 3;  // a prime, too, for long ones
constexpr std::int64_t kEarlier_ns = 100'000'000;
constexpr auto kIdle = std::chrono::milliseconds(300);  // more than that between what is judged and what came before

std::int64_t unix_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

WorkerReport nothing_seen(const std::string& why) { return {"", "the worker's clock and ours alone: " + why}; }

std::string fact_of(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, text] : timeline.metadata) {
    if (name == key) return text;
  }
  return "";
}

/// The recording of the one process; what it lacks is an error.
Result<Timeline> recorded_in(const fs::path& folder, std::int64_t since_ns) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) files.push_back(entry.path());
  if (files.empty()) return environment_error("the recorder wrote nothing");
  WM_ASSIGN(auto session, profile::read_session(files));
  if (session.ranks.empty()) {  // not even a call was seen: that is an account, too, unless the recorder had troubles
    for (const auto& issue : session.quality) return environment_error(issue.text + " " + issue.example);
    return Timeline();
  }
  Timeline timeline = std::move(session.ranks.front());
  for (const char* trouble : {"problem", "refused_kinds"}) {
    if (const auto said = fact_of(timeline, trouble); !said.empty()) return environment_error("CUPTI: " + said);
  }
  const std::int64_t begin = std::atoll(fact_of(timeline, "recording_begin_ns").c_str());
  if (begin == 0 || begin > since_ns) return environment_error("the recorder began too late");
  if (const auto lost = fact_of(timeline, "dropped_records"); !lost.empty() && lost != "0") {
    return environment_error("the recorder lost " + lost + " records");
  }
  return timeline;
}

Json record_question(const fs::path& library, const fs::path& folder) {
  const char* cupti = std::getenv("WARPMARK_CUPTI");
  return {{"ask", "record"},
          {"on", true},
          {"library", library.string()},
          {"variables",
           {{"WARPMARK_RECORD_FOLDER", folder.string()},
            {"WARPMARK_RECORD_CUPTI", cupti != nullptr ? cupti : profile::find_cupti("/", {})},
            {"WARPMARK_RECORD_DELAY", "0"},
            {"WARPMARK_RECORD_DURATION", "0"},
            {"WARPMARK_RECORD_WINDOWS", "0"}}}};
}

}  // namespace

CrossCheckedWork cross_checked_work(const Timeline& timeline, std::int64_t since_ns, std::int64_t steps) {
  const auto& events = timeline.events;
  const std::int64_t since = since_ns - timeline.origin_ns;
  std::map<NameId, std::int64_t> times;  // whatever the grid: that of a gradient of embeddings follows from the words
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  CrossCheckedWork work;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    const bool kernel = kind == EventKind::kernel;
    if (events.start[i] < since || !(kernel || kind == EventKind::memcpy || kind == EventKind::memset)) continue;
    spans.emplace_back(events.start[i], events.end(i));
    if (!kernel) continue;
    ++work.launches;
    ++times[events.name[i]];
  }
  for (const auto& [kernel, count] : times) {
    if (count % steps != 0) continue;
    work.in_steps += count;
    work.fewest = work.fewest == 0 ? count : std::min(work.fewest, count);
  }
  std::sort(spans.begin(), spans.end());
  std::int64_t reached = spans.empty() ? 0 : spans.front().first, busy = 0;
  for (const auto& [begin, end] : spans) {
    busy += std::max<std::int64_t>(0, end - std::max(begin, reached));
    reached = std::max(reached, end);
  }
  work.busy_s = static_cast<double>(busy) * 1e-9;
  if (!spans.empty()) work.span_s = static_cast<double>(reached - spans.front().first) * 1e-9;
  return work;
}

std::string contradiction(const CrossCheckedWork& work, const ReportedStep& attribute) {
  const auto steps = static_cast<double>(attribute.steps);
  if (work.launches == 0) {
    return fmt::format("the recorder saw no kernel in the {} steps that the worker says it did", attribute.steps);
  }
  if (attribute.equal_steps &&
      static_cast<double>(work.launches - work.in_steps) > kStrays * static_cast<double>(work.launches)) {
    return fmt::format(
        "the recorder saw {} launches, and of {} of them the kernel came no multiple of {} times: that "
        "is not the {} equal steps that the worker says it did",
        work.launches, work.launches - work.in_steps, attribute.steps, attribute.steps);
  }
  if (attribute.once_each_step && work.fewest > attribute.steps) {
    return fmt::format("the recorder saw every kernel at least {} times in what the worker says are {} steps",
                       work.fewest, attribute.steps);
  }
  if (work.span_s > attribute.window_s * (1 + kSpanAgrees) + kSpanSlack_s) {
    return fmt::format(
        "the recorder saw the GPU work for {:.4g} s on steps of which the worker says that they took "
        "{:.4g} s",
        work.span_s, attribute.window_s);
  }
  if (work.busy_s / steps > attribute.step_s * (1 + kBusyAgrees)) {
    return fmt::format("the kernels of a step take {:.4g} s by the recorder, the whole step {:.4g} s by the worker",
                       work.busy_s / steps, attribute.step_s);
  }
  return "";
}

WorkerReport second_cross_check(ModelWorkers& workers, const Params& params, double step_s) {
  const auto& compile = params.text("compile");
  if (workers.ranks() > 1) return nothing_seen("there are several ranks");
  if (compile != "no" && compile != "default")
    return nothing_seen("its graphs were captured before the recorder began");
  const std::int64_t steps = step_s * kCrossCheckedSteps < kLongest_s ? kCrossCheckedSteps : kFewSteps;
  if (step_s * static_cast<double>(steps) > kLongest_s) return nothing_seen("a step is too long");
  const bool once = params.text("pass") != "decode" && params.integer("accumulate") == 1;
  const bool scaled = params.text("precision") == "fp16" && params.text("pass") == "train";
  return hear_recorder(workers, {.steps = steps, .step_s = step_s, .once_each_step = once, .equal_steps = !scaled},
                       kDeadline_s);
}

/// Two steps first: the recorder begins in a thread of its own, and CUPTI prepares each kernel when it sees it first.
WorkerReport hear_recorder(ModelWorkers& workers, ReportedStep attribute, double deadline_s) {
  const auto self = own_executable();
  const auto library =
      profile::find_inject_library(self.ok() ? *self : fs::path(), std::getenv("WARPMARK_INJECT_LIBRARY"));
  if (!library.ok()) return nothing_seen(library.error().what);
  const auto folder = ScratchFolder::make("cross-check");
  if (!folder.ok()) return nothing_seen(folder.error().what);
  const auto started = workers.ask(record_question(*library, folder->path()), kDeadline_s);
  if (!started.ok()) return nothing_seen(started.error().what);
  std::this_thread::sleep_for(kIdle);
  const auto first = workers.window(2, false, deadline_s);
  std::this_thread::sleep_for(kIdle);
  const std::int64_t since_ns = unix_clock_ns() - kEarlier_ns;
  const auto window = workers.window(attribute.steps, false, deadline_s);
  const auto stopped = workers.ask({{"ask", "record"}, {"on", false}}, kDeadline_s);
  for (const Status& status :
       {first.ok() ? Status() : Status(first.error()), window.ok() ? Status() : Status(window.error()),
        stopped.ok() ? Status() : Status(stopped.error())}) {
    if (!status.ok()) return nothing_seen(status.error().what);
  }
  const auto timeline = recorded_in(folder->path(), since_ns);
  if (!timeline.ok()) return nothing_seen(timeline.error().what);
  attribute.window_s = window->seconds * static_cast<double>(attribute.steps);
  const CrossCheckedWork work = cross_checked_work(*timeline, since_ns, attribute.steps);
  const auto steps = static_cast<double>(attribute.steps);
  return {contradiction(work, attribute),
          fmt::format("recorder: {} steps, {:.1f} launches each, kernels for {:.4g} ms of {:.4g} ms", attribute.steps,
                      static_cast<double>(work.launches) / steps, work.busy_s / steps * 1e3, attribute.step_s * 1e3)};
}

}  // namespace warpmark::workloads
