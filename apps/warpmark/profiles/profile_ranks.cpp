#include "warpmark/profiles/profile_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <ostream>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/recording/convert.h"
#include "warpmark/profiles/rank_recordings.h"
#include "warpmark/profiles/recorded.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// Options that say how ranks are started, and not how each is recorded.
constexpr std::array<std::string_view, 8> kOfStarting{"--out",      "--ranks",        "--hosts",         "--bind",
                                                      "--launcher", "--launcher-arg", "--oversubscribe", "--as-rank"};

Result<std::vector<std::string>> words_of_a_rank(const ParsedOptions& options, std::span<const OptionSpec> specs) {
  WM_ASSIGN(const auto self, own_executable());
  std::vector<std::string> words{self.string(), "profile", "--as-rank"};
  for (const auto& option : specs) {
    if (std::ranges::find(kOfStarting, option.name) != kOfStarting.end() || !options.has(option.name)) continue;
    words.emplace_back(option.name);
    if (*option.value != '\0') words.push_back(options.get(option.name));
  }
  if (!options.positionals().empty()) words.emplace_back("--");
  words.insert(words.end(), options.positionals().begin(), options.positionals().end());
  return words;
}

Result<RankRecording> rank_recording_of(Context& context, const ParsedOptions& options,
                                        std::span<const OptionSpec> specs) {
  for (const char* other : {"--nsys", "--ncu", "--ncu-kernel", "--ncu-set", "--ncu-section", "--ncu-skip"}) {
    if (options.has(other)) return usage_error(std::string(other) + " is not for --ranks", "profile one rank with it");
  }
  RankRecording recording;
  std::int64_t hosts = 0;
  recording.launch.hosts = options.get("--hosts");
  if (!recording.launch.hosts.empty()) {
    WM_ASSIGN(const auto text, read_file(recording.launch.hosts, 1 << 20));
    for (const auto& line : split(text, '\n')) hosts += !trim(line).empty() && !trim(line).starts_with("#");
    if (hosts == 0) return data_error(recording.launch.hosts + " names no host", "one host a line");
  }
  WM_ASSIGN(const auto ranks, count_of(options, "--ranks", hosts, 1, 10'000));
  recording.launch.ranks = static_cast<int>(ranks);
  recording.launch.launcher = options.get("--launcher", "auto");
  recording.launch.oversubscribe = options.has("--oversubscribe");
  recording.launch.more = options.all("--launcher-arg");
  for (const char* name : {"WARPMARK_CUPTI", "WARPMARK_INJECT_LIBRARY"}) {
    if (const char* value = context.environment(name)) recording.launch.environment.emplace_back(name, value);
  }
  recording.bind = options.get("--bind");
  WM_ASSIGN(recording.words, words_of_a_rank(options, specs));
  return recording;
}

std::string clock_text(const Timeline& timeline) {
  const auto offset = fact(timeline, "clock_offset_ns"), uncertainty = fact(timeline, "clock_uncertainty_ns");
  if (offset.empty()) return "its clock was not compared";
  const double behind_s = std::strtod(offset.c_str(), nullptr) * 1e-9;
  return fmt::format("its clock was {} {} ours, within {}", format_seconds(std::abs(behind_s)),
                     behind_s < 0 ? "ahead of" : "behind",
                     format_seconds(std::strtod(uncertainty.c_str(), nullptr) * 1e-9));
}

namespace net = warpmark::collectives::net;

/// Crystals differ by at most some 100 in a million; what differs more was set.
void note_a_set_clock(const RecordedRank& rank, Timeline& timeline) {
  if (!rank.before || !rank.after) return;
  const auto apart = std::abs(static_cast<double>(rank.after->offset_ns - rank.before->offset_ns));
  const auto meanwhile = static_cast<double>(rank.after->at_ns - rank.before->at_ns);
  const auto blur = static_cast<double>(rank.after->uncertainty_ns + rank.before->uncertainty_ns);
  if (apart <= blur + 500e-6 * meanwhile) return;
  timeline.quality.push_back({"clock_set",
                              "the clock of this host was set while it was recorded: its times are uncertain", 1,
                              fmt::format("by {:.3g} ms", apart * 1e-6)});
}

void move(const RecordedRank& rank, Timeline& timeline) {
  if (!rank.before) return;
  const auto offset = net::offset_at(*rank.before, rank.after, timeline.origin_ns);
  timeline.origin_ns += offset.offset_ns;
  timeline.metadata.emplace_back("clock_offset_ns", std::to_string(offset.offset_ns));
  timeline.metadata.emplace_back("clock_uncertainty_ns", std::to_string(offset.uncertainty_ns));
  note_a_set_clock(rank, timeline);
}

/// Of the whole file onto the clock of its first timeline.
void take_counters(RecordedRank& rank, Timeline& timeline, std::int64_t own_origin_ns) {
  for (auto& series : rank.session.counters) {
    for (auto& time : series.times) time -= own_origin_ns;
    timeline.counters.push_back(std::move(series));
  }
  rank.session.counters.clear();
}

}  // namespace

Result<int> record_ranks(Context& context, const ParsedOptions& options, std::span<const OptionSpec> specs,
                         const std::filesystem::path& out) {
  WM_ASSIGN(const auto recording, rank_recording_of(context, options, specs));
  set_grace(8);
  WM_ASSIGN(auto collected, collect_ranks(context, recording));
  for (const auto& problem : collected.problems) context.err << "warpmark: " << problem << '\n';
  if (collected.ranks.empty()) {
    return environment_error("no rank was recorded",
                             collected.problems.empty() ? "" : "the first says: " + collected.problems.front());
  }
  const auto session = join_ranks(std::move(collected.ranks), recording.launch.ranks);
  for (const auto& timeline : session.ranks) {
    context.err << fmt::format("warpmark: rank {} on {}: {} events, {} on the GPU; {}\n", timeline.rank, timeline.host,
                               timeline.events.size(), gpu_works(timeline), clock_text(timeline));
  }
  WM_TRY(profile::kRecordingFormat.write(session, out));
  context.err << "warpmark: next: warpmark analyze " << shell_quote(out.string()) << '\n';
  if (context.interrupted) return kInterrupted;
  if (collected.exit_code == 0 && !collected.problems.empty()) {
    return exit_because(context, kEnvironment, collected.problems.front());
  }
  return command_exit_code(context, collected.exit_code);
}

Status check_rank_options(const ParsedOptions& options) {
  if (options.has("--ranks") || options.has("--hosts")) return {};
  for (const char* only : {"--bind", "--launcher", "--launcher-arg", "--oversubscribe"}) {
    if (options.has(only)) return usage_error(std::string(only) + " is for --ranks or --hosts", "add --ranks N");
  }
  return {};
}

ProfileSession join_ranks(std::vector<RecordedRank> ranks, int world_size) {
  ProfileSession joined;
  for (auto& rank : ranks) {
    auto& timelines = rank.session.ranks;
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      Timeline& timeline = timelines[i];
      const std::int64_t own_origin = timeline.origin_ns;
      move(rank, timeline);
      if (i == 0) take_counters(rank, timeline, own_origin);
      if (timeline.host.empty()) timeline.host = rank.host;
      if (timelines.size() > 1) continue;  // a launcher of its own numbers its processes
      timeline.rank = rank.rank;
      timeline.world_size = world_size;
    }
    std::move(timelines.begin(), timelines.end(), std::back_inserter(joined.ranks));
    std::move(rank.session.quality.begin(), rank.session.quality.end(), std::back_inserter(joined.quality));
  }
  return joined;
}

}  // namespace warpmark::apps
