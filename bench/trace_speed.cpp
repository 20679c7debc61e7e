// How fast traces are read: warpmark (plain, .gz and .zst files), simdjson's DOM and Python's json on the same
// generated trace, each in a process of its own, whose peak memory the system reports. All must find the same number of
// rows. The contenders take turns twice and the better time counts, as the first one also warms the page cache.
//
//   trace_speed [MEGABYTES [FOLDER]]     1024 MB in the folder for temporary files unless told otherwise
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/text.h"
#include "profile/read_session.h"
#include "trace_generator.h"

namespace {

namespace fs = std::filesystem;
using warpmark::bench::GeneratedTrace;

struct Outcome {
  double seconds = 0;
  std::int64_t rows = -1;
  std::int64_t events = -1;  ///< in the timeline; of warpmark only
  double peak_bytes = 0;
  double processor_seconds = 0;  ///< of all threads: what counts where others use the machine too
};

struct Contender {
  const char* name;
  std::string file;
  Outcome (*read)(const std::string& file);
  double memory_factor = 1;  ///< memory it needs a byte of text, to leave it out where the machine has less
  double most_bytes = 1e18;  ///< of text
};

Outcome read_with_warpmark(const std::string& file) {
  const std::array<fs::path, 1> paths{file};
  const auto session = warpmark::profile::read_session(paths);
  Outcome outcome;
  if (!session.ok() || session->ranks.empty()) return outcome;
  outcome.events = static_cast<std::int64_t>(session->ranks[0].events.size());
  for (const auto& [key, value] : session->ranks[0].metadata) {
    if (key == "rows") outcome.rows = std::atoll(value.c_str());
  }
  return outcome;
}

Outcome read_with_simdjson(const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  Outcome outcome;
  if (parser.load(file).get(document) != simdjson::SUCCESS) return outcome;
  simdjson::dom::array events;
  if (document["traceEvents"].get(events) != simdjson::SUCCESS) return outcome;
  outcome.rows = 0;
  for ([[maybe_unused]] const auto event : events) ++outcome.rows;
  return outcome;
}

Outcome read_with_python(const std::string& file) {
  const std::string command =
      "python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))[\"traceEvents\"]))' " +
      warpmark::shell_quote(file);
  Outcome outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  long long rows = -1;
  if (std::fscanf(pipe, "%lld", &rows) == 1) outcome.rows = rows;
  ::pclose(pipe);
  return outcome;
}

/// In a child, so that its peak memory is its own.
Outcome run(const Contender& contender) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const Outcome outcome = contender.read(contender.file);
    const ssize_t written = ::write(ends[1], &outcome, sizeof(outcome));
    ::_exit(written == sizeof(outcome) ? 0 : 1);
  }
  ::close(ends[1]);
  Outcome outcome;
  const bool whole = ::read(ends[0], &outcome, sizeof(outcome)) == sizeof(outcome);
  ::close(ends[0]);
  rusage usage = {};
  int status = 0;
  ::wait4(child, &status, 0, &usage);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!whole) outcome.rows = -1;
  // What a shell that the child started used is reported with the child only if the child waited for it, as it did.
  outcome.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  outcome.processor_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return outcome;
}

bool pack(const std::string& command, const std::string& file, const std::string& into) {
  return std::system((command + " < " + warpmark::shell_quote(file) + " > " + warpmark::shell_quote(into)).c_str()) ==
         0;
}

/// Those that cannot read so much: simdjson takes documents below 4 GiB (its documentation, "Performance Notes").
void leave_out_impossible(std::vector<Contender>& contenders, double bytes) {
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::erase_if(contenders, [&](const Contender& contender) {
    const bool too_long = bytes > contender.most_bytes;
    const bool too_large = bytes * contender.memory_factor > 0.9 * memory;
    if (too_long) fmt::print("{} is left out: it takes less than 4 GiB of text\n", contender.name);
    if (!too_long && too_large) {
      fmt::print("{} is left out: it would need about {:.0f} GB of memory\n", contender.name,
                 bytes * contender.memory_factor / 1e9);
    }
    return too_long || too_large;
  });
}

int compare(const GeneratedTrace& trace, const std::string& file) {
  std::vector<Contender> contenders{{"warpmark .json", file, read_with_warpmark}};
  if (pack("gzip -6 -c", file, file + ".gz"))
    contenders.push_back({"warpmark .json.gz", file + ".gz", read_with_warpmark});
  if (pack("zstd -q -3 -c", file, file + ".zst")) {
    contenders.push_back({"warpmark .json.zst", file + ".zst", read_with_warpmark});
  }
  contenders.push_back({"simdjson DOM", file, read_with_simdjson, 4.0, 4294967295.0});
  contenders.push_back({"Python json", file, read_with_python, 5.3});
  leave_out_impossible(contenders, static_cast<double>(trace.bytes));
  std::vector<Outcome> best(contenders.size());
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (turn > 0 && best[i].seconds > 10) continue;  // once is enough for the slow ones
      const Outcome outcome = run(contenders[i]);
      if (turn == 0 || outcome.seconds < best[i].seconds) best[i] = outcome;
    }
  }
  fmt::print("{:.0f} MB of text, {} rows\n", static_cast<double>(trace.bytes) / 1e6, trace.rows);
  fmt::print("{:20} {:>9} {:>9} {:>9} {:>10} {:>12} {:>12} {:>12}\n", "reader", "seconds", "CPU s", "MB/s", "peak MB",
             "peak/text", "rows", "events");
  bool agree = true;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Outcome& outcome = best[i];
    agree = agree && outcome.rows == trace.rows;
    fmt::print("{:20} {:9.2f} {:9.2f} {:9.0f} {:10.0f} {:12.2f} {:>12} {:>12}\n", contenders[i].name, outcome.seconds,
               outcome.processor_seconds, static_cast<double>(trace.bytes) / 1e6 / outcome.seconds,
               outcome.peak_bytes / 1e6, outcome.peak_bytes / static_cast<double>(trace.bytes), outcome.rows,
               outcome.events < 0 ? "-" : std::to_string(outcome.events));
  }
  fmt::print("{}\n", agree ? "all found the same rows" : "THE ROWS DIFFER");
  return agree ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const char* usage =
      "trace_speed [MEGABYTES [FOLDER]]   1024 MB in the folder for temporary files unless told otherwise";
  if (const auto code = warpmark::bench::end_with_usage(count, arguments, usage, 0, 2)) return *code;
  const auto megabytes = warpmark::bench::count_at(1, count, arguments, 1024);
  if (!megabytes) return 2;
  const fs::path folder = count > 2 ? fs::path(arguments[2]) : fs::temp_directory_path();
  const std::string file = (folder / fmt::format("warpmark_trace_{}.json", ::getpid())).string();
  const auto trace = warpmark::bench::generate_trace(file, *megabytes * 1'000'000);
  int code = 2;
  if (trace.ok()) {
    code = compare(*trace, file);
  } else {
    fmt::print(stderr, "{}\n", trace.error().what);
  }
  for (const char* suffix : {"", ".gz", ".zst"}) std::remove((file + suffix).c_str());
  return code;
}
