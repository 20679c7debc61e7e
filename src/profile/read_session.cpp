#include "profile/read_session.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "profile/readers/rocprof/rocprof_kinds.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

struct Choice {
  const TraceReader* reader = nullptr;
  std::string near_miss;  ///< why the nearest reader cannot take it
};

Choice choose(std::string_view head) {
  Choice choice;
  int best = 0;
  for (const TraceReader* reader : readers()) {
    const Sniff sniff = reader->sniff(head);
    if (sniff.score > best) {
      best = sniff.score;
      choice.reader = reader;
    } else if (choice.near_miss.empty()) {
      choice.near_miss = sniff.reason;
    }
  }
  return choice;
}

Error refuse(const ByteSource& source, std::string_view head, const std::string& near_miss) {
  const fs::path& path = source.path();
  if (!near_miss.empty()) return data_error(path.string() + ": " + near_miss);
  if (head.empty() && !source.damage().empty()) {
    return data_error("nothing can be read from " + path.string() + ": " + source.damage(), "copy or record it again");
  }
  const Refusal refusal = inspect(head);
  return data_error(path.string() + " is no profile: it looks like " + refusal.what, refusal.hint);
}

/// "rank3", "rank_3" or "rank-3" in a file's name; the last one, as folders' names are not looked at.
std::optional<int> rank_in_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto at = name.rfind("rank");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digits = name.find_first_not_of("_-", at + 4);
  int rank = 0;
  if (digits == std::string::npos) return std::nullopt;
  const auto [rest, code] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  if (code != std::errc() || rank < 0) return std::nullopt;
  return rank;
}

/// Whether two timelines are one recording read twice: the same rank, as far as it is known, did the same at the same
/// nanoseconds.
bool is_same_recording(const Timeline& a, const Timeline& b) {
  const bool other_rank = a.rank >= 0 && b.rank >= 0 && a.rank != b.rank;
  return !other_rank && a.origin_ns == b.origin_ns && a.events.size() > 0 && a.host == b.host &&
         std::ranges::equal(a.events.start.span(), b.events.start.span()) &&
         std::ranges::equal(a.events.duration.span(), b.events.duration.span()) &&
         std::ranges::equal(a.events.kind.span(), b.events.kind.span()) &&
         std::ranges::equal(a.events.name.span(), b.events.name.span(),
                            [&](NameId x, NameId y) { return a.names.at(x) == b.names.at(y); });
}

/// A file named twice, or beside its compressed copy, is no second rank: leaves out what `session` has already.
void leave_out_copies(ProfileSession& session, std::vector<Timeline>& ranks) {
  std::erase_if(ranks, [&session](const Timeline& timeline) {
    const auto first = std::ranges::find_if(
        session.ranks, [&timeline](const Timeline& one) { return is_same_recording(one, timeline); });
    if (first == session.ranks.end()) return false;
    if (first->rank < 0) first->rank = timeline.rank;
    count_issue(session.quality, "copy_left_out", "files with the same events as another: left out", timeline.source);
    return true;
  });
}

void append(ProfileSession& session, ProfileSession&& part) {
  const auto move_all = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  const bool held_ranks = !part.ranks.empty();
  leave_out_copies(session, part.ranks);
  if (held_ranks && part.ranks.empty()) return;  // its counters are there, too
  join_pages(session, part.kernels);
  move_all(session.ranks, part.ranks);
  move_all(session.counters, part.counters);
  move_all(session.kernels, part.kernels);
  move_all(session.collectives, part.collectives);
  for (const auto& issue : part.quality) {
    count_issue(session.quality, issue.id, issue.text, issue.example, issue.count);
  }
}

/// Unknown ranks, and those that two timelines claim, get the free numbers in order.
void number_ranks(ProfileSession& session) {
  auto& ranks = session.ranks;
  if (ranks.size() > 1) {
    std::vector<int> taken;
    std::vector<Timeline*> open;
    for (Timeline& timeline : ranks) {
      if (timeline.rank >= 0 && std::find(taken.begin(), taken.end(), timeline.rank) == taken.end()) {
        taken.push_back(timeline.rank);
        continue;
      }
      if (timeline.rank >= 0) {
        count_issue(timeline.quality, "rank_twice", "another file has the same rank: this one was given a free number",
                    timeline.source);
        timeline.declared_rank = timeline.rank;
      }
      open.push_back(&timeline);
    }
    int next = 0;
    for (Timeline* timeline : open) {
      while (std::find(taken.begin(), taken.end(), next) != taken.end()) ++next;
      timeline->rank = next++;
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](const Timeline& a, const Timeline& b) { return a.rank < b.rank; });
}

Result<ProfileSession> read_file_of_session(const fs::path& path, const ReadOptions& options) {
  WM_ASSIGN(auto source, open_source(path));
  WM_ASSIGN(ProfileSession part, read_source(*source, options));
  if (part.ranks.size() == 1 && part.ranks[0].rank < 0) part.ranks[0].rank = rank_in_name(path).value_or(-1);
  return part;
}

/// Files of a folder in the order of their names, with numbers in the order of their values: rank2 before rank10.
Result<std::vector<fs::path>> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && !entry->path().filename().string().starts_with('.')) {
      files.push_back(entry->path());
    }
  }
  if (code) return environment_error("cannot list the folder " + folder.string() + ": " + code.message());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string(), right = b.filename().string();
    return left.size() != right.size() && rank_in_name(a) && rank_in_name(b) ? rank_in_name(a) < rank_in_name(b)
                                                                             : left < right;
  });
  return files;
}

/// jax.profiler writes the same events once more where create_perfetto_trace or create_perfetto_link ask for it.
bool is_copy_for_perfetto(const fs::path& file, const std::vector<fs::path>& files) {
  return file.filename() == "perfetto_trace.json.gz" &&
         std::any_of(files.begin(), files.end(),
                     [](const fs::path& one) { return one.string().ends_with(".trace.json.gz"); });
}

Status add_folder(const fs::path& folder, const ReadOptions& options, ProfileSession& session) {
  WM_ASSIGN(const std::vector<fs::path> files, files_in(folder));
  std::size_t read = 0;
  for (const fs::path& file : files) {
    if (is_read_with_kernels(file, files)) continue;
    if (is_copy_for_perfetto(file, files)) {
      count_issue(session.quality, "copy_left_out", "copies of a trace that JAX wrote for Perfetto: left out",
                  file.filename().string());
      continue;
    }
    auto part = read_file_of_session(file, options);
    if (part.ok()) {
      append(session, std::move(part).value());
      ++read;
    } else if (part.error().kind == ErrorKind::environment) {
      return part.error();
    } else {
      count_issue(session.quality, "file_left_out", "files of a folder that are no profiles: left out",
                  part.error().what);
    }
  }
  if (read > 0) return {};
  return data_error("the folder " + folder.string() + " holds no profile",
                    files.empty() ? "it has no files; folders within it are not searched: name them"
                                  : "name a file in it to see why it was not taken");
}

struct Launch {
  int rank = 0;
  EventIndex event = 0;
};

struct Candidates {
  std::vector<Launch> all;
  std::map<std::string, std::vector<Launch>> by_spelling;  ///< of the whole name, without blanks
};

std::string without_blanks(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ') plain += c;
  }
  return plain;
}

std::string text_of(const std::uint32_t (&size)[3]) {
  return "(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " + std::to_string(size[2]) + ")";
}

/// "ns::gemm (256, 1, 1) (128, 1, 1)".
std::string key_of(std::string_view name, const std::string& grid, const std::string& block) {
  return qualified_name(name) + " " + grid + " " + block;
}

/// The launches of the first rank whose kernels appear in `wanted`, in order of time.
std::map<std::string, Candidates> candidates_in(const ProfileSession& session,
                                                const std::map<std::string, Candidates>& wanted) {
  std::map<std::string, Candidates> found;
  for (std::size_t rank = 0; rank < session.ranks.size() && found.empty(); ++rank) {
    const Timeline& timeline = session.ranks[rank];
    std::map<std::pair<NameId, std::uint32_t>, std::string> keys;  // programs launch few different kernels
    for (EventIndex i = 0; i < timeline.events.size(); ++i) {
      if (timeline.events.kind[i] != EventKind::kernel) continue;
      const std::uint32_t shape = timeline.events.detail[i];
      const auto [key, is_new] = keys.try_emplace({timeline.events.name[i], shape}, "");
      if (is_new && shape < timeline.launch_shapes.size()) {
        const LaunchShape& launch = timeline.launch_shapes[shape];
        key->second = key_of(timeline.name_of(i), text_of(launch.grid), text_of(launch.block));
        if (!wanted.contains(key->second)) key->second.clear();
      }
      if (key->second.empty()) continue;
      Candidates& launches = found[key->second];
      launches.all.push_back({static_cast<int>(rank), i});
      launches.by_spelling[without_blanks(timeline.name_of(i))].push_back(launches.all.back());
    }
  }
  return found;
}

bool is_same_launch(const KernelProfile& a, const KernelProfile& b) {
  return a.id == b.id && a.name == b.name && a.grid == b.grid && a.block == b.block && a.stream == b.stream;
}

std::set<std::string_view> metrics_of(const KernelProfile& kernel) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kernel.metrics.size(); ++i) ids.insert(kernel.metrics[i].id);
  return ids;
}

/// Equal metrics of several processes are of ranks that launch the same.
bool is_other_page(const KernelProfile& a, const KernelProfile& b) {
  return a.process == b.process || metrics_of(a) != metrics_of(b);
}

void add_missing(KernelProfile& to, KernelProfile& from) {
  const std::set<std::string_view> known = metrics_of(to);
  std::vector<KernelMetric> missing;
  for (std::size_t i = 0; i < from.metrics.size(); ++i) {
    if (!known.contains(from.metrics[i].id)) missing.push_back(from.metrics[i]);
  }
  for (const KernelMetric& one : missing) to.metrics.add(one.id, one.unit, one.value);
  if (to.rules.empty()) to.rules = std::move(from.rules);
}

}  // namespace

Result<ProfileSession> read_source(ByteSource& source, const ReadOptions& options) {
  const auto named = [&](Error error) {
    if (!source.path().empty()) error.what = source.path().string() + ": " + error.what;
    return error;
  };
  const auto head = source.head(kSniffBytes);
  if (!head.ok()) return named(head.error());
  const Choice choice = choose(*head);
  if (choice.reader == nullptr) return refuse(source, *head, choice.near_miss);
  ProfileSession session;
  if (const Status status = choice.reader->read(source, options, session); !status.ok()) return named(status.error());
  for (Timeline& timeline : session.ranks) {
    if (timeline.source.empty()) timeline.source = source.path().string();
    if (timeline.format.empty()) timeline.format = choice.reader->id;
  }
  return session;
}

Result<ProfileSession> read_session(std::span<const fs::path> paths, const ReadOptions& options) {
  if (paths.empty()) return usage_error("no profile was named", "name a file or a folder");
  ProfileSession session;
  for (const fs::path& path : paths) {
    std::error_code code;
    if (is_read_with_kernels(path, {paths.begin(), paths.end()})) continue;
    if (fs::is_directory(path, code)) {
      WM_TRY(add_folder(path, options, session));
    } else {
      WM_ASSIGN(ProfileSession part, read_file_of_session(path, options));
      append(session, std::move(part));
    }
  }
  number_ranks(session);
  join_kernels(session);
  return session;
}

void join_pages(ProfileSession& session, std::vector<KernelProfile>& kernels) {
  if (kernels.empty()) return;
  auto known =
      std::search(session.kernels.begin(), session.kernels.end(), kernels.begin(), kernels.end(), is_same_launch);
  if (known == session.kernels.end() || !is_other_page(*known, kernels.front())) return;
  for (KernelProfile& one : kernels) add_missing(*known++, one);
  kernels.clear();
}

std::string qualified_name(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  // An unnamed namespace is a part of the name; any other parenthesis or angle bracket ends it.
  constexpr std::string_view kUnnamed[] = {"(anonymous namespace)", "<unnamed>"};  // of GCC's and NVIDIA's demanglers
  std::string name;
  while (!kernel.empty()) {
    const auto unnamed =
        std::find_if(std::begin(kUnnamed), std::end(kUnnamed), [&](auto text) { return kernel.starts_with(text); });
    if (unnamed != std::end(kUnnamed)) {
      name += kUnnamed[0];
      kernel.remove_prefix(unnamed->size());
    } else if (kernel.front() == '(' || kernel.front() == '<') {
      break;
    } else {
      name += kernel.front();
      kernel.remove_prefix(1);
    }
  }
  return name;
}

void join_kernels(ProfileSession& session) {
  if (session.kernels.empty() || session.ranks.empty()) return;
  std::map<std::string, Candidates> wanted;
  for (const KernelProfile& kernel : session.kernels) wanted[key_of(kernel.name, kernel.grid, kernel.block)];
  const auto found = candidates_in(session, wanted);
  for (KernelProfile& kernel : session.kernels) {
    const auto fits = found.find(key_of(kernel.name, kernel.grid, kernel.block));
    if (fits == found.end() || kernel.ordinal < 0) continue;
    // Tools spell template arguments differently; where they agree, another instance of the template is not meant.
    const auto same = fits->second.by_spelling.find(without_blanks(kernel.name));
    const auto& launches = same != fits->second.by_spelling.end() ? same->second : fits->second.all;
    const Launch& launch = launches[static_cast<std::size_t>(kernel.ordinal) % launches.size()];
    kernel.rank = launch.rank;
    kernel.event = launch.event;
  }
}

}  // namespace warpmark::profile
