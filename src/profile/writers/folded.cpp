// Folded stacks: a line for each different stack of a host thread, its frames from the outside in, and microseconds in
// the innermost alone. speedscope.app opens it; Brendan Gregg's flamegraph.pl (github.com/brendangregg/FlameGraph)
// draws it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "profile/catalog.h"
#include "profile/writers/text_file.h"

namespace warpmark::profile {
namespace {

bool is_frame(EventKind kind) {
  return kind == EventKind::op || kind == EventKind::annotation || kind == EventKind::runtime_api ||
         kind == EventKind::driver_api || kind == EventKind::os_call || kind == EventKind::python;
}

/// One word of the format's: a ';' separates frames, the last blank the time.
std::string frame(std::string_view name) {
  std::string text(name.empty() ? "unknown" : name);
  std::ranges::replace(text, ';', ':');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string thread_name(const Track& track) {
  return frame(track.name.empty() ? fmt::format("thread {}", track.thread) : track.name);
}

/// The stack of one thread while its events, sorted by start, are walked.
class Thread {
 public:
  explicit Thread(std::string name) : path_(std::move(name)) {}

  void add(std::int64_t start, std::int64_t end, std::string_view name, std::map<std::string, std::int64_t>& alone_ns) {
    leave(start, alone_ns);
    if (!open_.empty()) alone_ns[path_] += start - since_;
    open_.push_back({open_.empty() ? end : std::min(end, open_.back().end), path_.size()});
    path_ += ';' + frame(name);
    since_ = start;
  }

  /// What has ended by `time`.
  void leave(std::int64_t time, std::map<std::string, std::int64_t>& alone_ns) {
    while (!open_.empty() && open_.back().end <= time) {
      alone_ns[path_] += open_.back().end - since_;
      since_ = open_.back().end;
      path_.resize(open_.back().path_before);
      open_.pop_back();
    }
  }

 private:
  struct Open {
    std::int64_t end;
    std::size_t path_before;
  };
  std::string path_;
  std::vector<Open> open_;
  std::int64_t since_ = 0;  // from here on the innermost frame is alone
};

std::map<std::string, std::int64_t> folded(const Timeline& timeline, const std::string& before) {
  const EventColumns& events = timeline.events;
  std::vector<Thread> threads;
  for (const Track& track : timeline.tracks) threads.emplace_back(before + thread_name(track));
  std::map<std::string, std::int64_t> alone_ns;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (timeline.tracks[events.track[i]].kind != TrackKind::cpu_thread || !is_frame(events.kind[i])) continue;
    if (events.duration[i] > 0)
      threads[events.track[i]].add(events.start[i], events.end(i), timeline.name_of(i), alone_ns);
  }
  for (Thread& thread : threads) thread.leave(INT64_MAX, alone_ns);
  return alone_ns;
}

Status write_folded(const ProfileSession& session, const std::filesystem::path& path) {
  WM_ASSIGN(auto file, TextFile::create(path));
  bool any = false;
  for (std::size_t rank = 0; rank < session.ranks.size(); ++rank) {
    const std::string before = session.ranks.size() > 1 ? fmt::format("rank {};", rank) : "";
    for (const auto& [stack, ns] : folded(session.ranks[rank], before)) {
      if (ns < 1000) continue;  // less than a microsecond is none
      any = true;
      file.text += fmt::format("{} {}\n", stack, ns / 1000);
      WM_TRY(file.flush_if_large());
    }
  }
  if (!any) {
    return data_error("the profile has no events of the host",
                      "record some: warpmark profile -- COMMAND, or with_stack=True in torch.profiler");
  }
  return file.finish();
}

}  // namespace

extern const Writer kFoldedWriter = {"folded", "folded host stacks for speedscope.app and flamegraph.pl", "folded",
                                     write_folded};

}  // namespace warpmark::profile
