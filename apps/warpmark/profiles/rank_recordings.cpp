#include "warpmark/profiles/rank_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/untrusted/read_fields.h"
#include "collectives/net/live.h"
#include "collectives/net/session.h"
#include "collectives/start/worker.h"
#include "device/machine.h"
#include "profile/module/unix_clock.h"
#include "profile/read_session.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;
namespace net = warpmark::collectives::net;

constexpr const char* kPlace = "WARPMARK_RANK_COLLECTOR";  ///< JSON of who collects, for the ranks
constexpr int kExchanges = 300;
constexpr std::size_t kPiece = 1 << 20;

Json clock_json(const std::optional<net::ClockOffset>& clock) {
  if (!clock) return nullptr;
  return Json{{"offset", clock->offset_ns}, {"uncertainty", clock->uncertainty_ns}, {"at", clock->at_ns}};
}

std::optional<net::ClockOffset> clock_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  return net::ClockOffset{json.value("offset", std::int64_t{0}), json.value("uncertainty", std::int64_t{0}),
                          json.value("at", std::int64_t{0})};
}

/// What the ranks send, as they send it: each connection has a thread.
class Collector {
 public:
  Collector(fs::path folder, int ranks) : folder_(std::move(folder)), expected_(ranks) {}

  std::optional<Status> handle(const std::string& kind, const Json& request, net::Socket& socket) {
    if (kind == "clock") return net::answer_clock(socket, profile::unix_ns);
    if (kind == "recording") return read_fields("a rank's recording", [&] { return take(request, socket); });
    return std::nullopt;
  }

  CollectedRanks result() {
    const std::lock_guard guard(lock_);
    std::sort(collected_.ranks.begin(), collected_.ranks.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (int rank = 0; rank < expected_; ++rank) {
      if (std::find(came_.begin(), came_.end(), rank) == came_.end()) {
        collected_.problems.push_back(fmt::format("rank {} sent no recording", rank));
      }
    }
    return std::move(collected_);
  }

 private:
  Status take(const Json& request, net::Socket& socket) {
    const int rank = request.value("rank", -1);
    if (rank < 0 || rank >= expected_) return socket.send_line(Json{{"error", "no such rank"}});
    const fs::path file = folder_ / fmt::format("rank{}.wmrec", rank);
    WM_TRY(socket.send_line(Json{{"ok", true}}));
    WM_TRY(receive(socket, request.value("bytes", std::int64_t{0}), file));
    keep(rank, request, file);
    wait_for_others(request.value("exit_code", 0));
    return socket.send_line(Json{{"ok", true}});
  }

  static Status receive(net::Socket& socket, std::int64_t bytes, const fs::path& file) {
    WM_TRY(socket.set_timeout(60));
    std::ofstream out(file, std::ios::binary);
    std::vector<char> piece(kPiece);
    while (bytes > 0) {
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(bytes, kPiece));
      WM_TRY(socket.receive_all(std::span(piece).first(size)));
      out.write(piece.data(), static_cast<std::streamsize>(size));
      bytes -= static_cast<std::int64_t>(size);
    }
    out.close();
    return out.good() ? Status() : environment_error("cannot write " + file.string(), "is there space in TMPDIR?");
  }

  void keep(int rank, const Json& request, const fs::path& file) {
    RecordedRank one{.rank = rank,
                     .host = request.value("host", ""),
                     .session = {},
                     .before = clock_from(request.value("before", Json())),
                     .after = clock_from(request.value("after", Json()))};
    std::string problem = request.value("problem", "");
    if (problem.empty()) {
      auto session = profile::read_session(std::vector<fs::path>{file});
      if (session.ok()) {
        one.session = std::move(*session);
      } else {
        problem = session.error().what;
      }
    }
    const std::lock_guard guard(lock_);
    came_.push_back(rank);
    const int code = request.value("exit_code", 0);
    if (collected_.exit_code == 0) collected_.exit_code = code;
    if (problem.empty()) {
      collected_.ranks.push_back(std::move(one));
    } else {
      collected_.problems.push_back(fmt::format("rank {} on {}: {}", rank, one.host, problem));
    }
    all_came_.notify_all();
  }

  /// Launchers end the other ranks when one ends with an exit code that is not 0: these get time to send theirs.
  void wait_for_others(int exit_code) {
    if (exit_code == 0) return;
    std::unique_lock guard(lock_);
    all_came_.wait_for(guard, std::chrono::seconds(10), [this] { return static_cast<int>(came_.size()) >= expected_; });
  }

  fs::path folder_;
  int expected_;
  std::mutex lock_;
  std::condition_variable all_came_;
  std::vector<int> came_;
  CollectedRanks collected_;
};

struct Place {
  std::vector<std::string> addresses;
  int port = 0;
  std::string token;
  int ranks = 1;
};

Result<Place> place_of(const Context& context) {
  const char* text = context.environment(kPlace);
  if (text == nullptr) {
    return usage_error("--as-rank is what warpmark profile --ranks starts",
                       "use warpmark profile --ranks N -- COMMAND");
  }
  WM_ASSIGN(const auto json, parse_json(text, kPlace));
  return read_fields(kPlace, [&]() -> Result<Place> {
    return Place{json.value("addresses", std::vector<std::string>()), json.value("port", 0), json.value("token", ""),
                 json.value("ranks", 1)};
  });
}

/// The first of its addresses at which it answers.
Result<net::ClientOptions> reach(const Place& place, const std::atomic<bool>& interrupted) {
  std::optional<Error> last;
  for (const auto& address : place.addresses) {
    net::ClientOptions client{{address, place.port}, place.token, 5, &interrupted};
    const auto exchanged = net::exchange_clocks(client, 1, profile::unix_ns);
    if (exchanged.ok()) {
      client.timeout_s = 60;
      return client;
    }
    last = exchanged.error();
  }
  return environment_error(
      "this rank cannot reach who started it at " + join(place.addresses, ", ") + (last ? ": " + last->what : ""),
      "name an address of that machine which all hosts reach with --bind");
}

std::optional<net::ClockOffset> compare_clocks(const net::ClientOptions& client) {
  const auto exchanged = net::exchange_clocks(client, kExchanges, profile::unix_ns);
  return exchanged.ok() ? net::estimate_offset(*exchanged) : std::nullopt;
}

Status send_recording(const net::ClientOptions& client, Json request, const fs::path& file) {
  std::error_code none;
  const auto bytes = fs::file_size(file, none);
  request["kind"] = "recording";
  request["bytes"] = none ? 0 : bytes;
  WM_ASSIGN(auto opened, net::open_connection(client, request));
  if (!none) {
    std::ifstream in(file, std::ios::binary);
    std::vector<char> piece(kPiece);
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
      WM_TRY(opened.socket.send_all(std::span(piece).first(static_cast<std::size_t>(in.gcount()))));
    }
  }
  WM_ASSIGN(const auto taken, opened.socket.receive_line());
  const bool is_taken = taken.is_object() && taken.value("ok", Json()) == true;
  return is_taken ? Status() : environment_error("the recording was not taken");
}

}  // namespace

Result<CollectedRanks> collect_ranks(Context& context, const RankRecording& recording) {
  WM_ASSIGN(const auto folder, ScratchFolder::make("ranks"));
  const bool far = !recording.launch.hosts.empty() || recording.launch.launcher == "srun" ||
                   context.environment("SLURM_JOB_ID") != nullptr;
  const std::string bind = !recording.bind.empty() ? recording.bind : far ? "0.0.0.0" : "127.0.0.1";
  WM_ASSIGN(auto listener, net::listen_on({bind, 0}));
  const std::string token = net::random_token();
  const Json place{{"addresses", bind == "0.0.0.0" ? net::own_addresses() : std::vector<std::string>{bind}},
                   {"port", net::port_of(listener)},
                   {"token", token},
                   {"ranks", recording.launch.ranks}};
  auto launch = recording.launch;
  launch.environment.emplace_back(kPlace, dump_json(place, -1));  // not on the command line, which everybody can read
  WM_ASSIGN(auto words, collectives::launcher_words(launch, collectives::launch_place(context.environment)));
  words.insert(words.end(), recording.words.begin(), recording.words.end());

  Collector collector(folder.path(), launch.ranks);
  std::atomic<bool> over = false;
  std::thread server([&] {
    (void)net::serve(std::move(listener),
                     {.token = token,
                      .most_connections = 2 * launch.ranks + 16,
                      .interrupted = &over,
                      .more = [&](const std::string& kind, const Json& request, net::Socket& socket) {
                        return collector.handle(kind, request, socket);
                      }});
  });
  constexpr double kAMonth = 30 * 86'400;
  const auto ended = run_process(words, {.deadline_s = kAMonth,
                                         .output_cap_bytes = 64 << 10,
                                         .environment = launch.environment,
                                         .own_group = true,
                                         .interrupted = &context.interrupted,
                                         .on_out = [&](std::string_view text) { context.out << text << std::flush; },
                                         .on_err = [&](std::string_view text) { context.err << text << std::flush; },
                                         .grace_s = 5});
  over = true;
  server.join();
  auto collected = collector.result();
  if (!ended.ok() && collected.ranks.empty()) return ended.error();
  if (ended.ok() && collected.exit_code == 0) collected.exit_code = ended->exit_code;
  if (ended.ok() && collected.ranks.empty() && collected.problems.empty()) {
    return environment_error(fmt::format("the ranks ended with exit code {}", ended->exit_code));
  }
  return collected;
}

Result<int> record_as_rank(
    Context& context, profile::RecordOptions record,
    const std::function<Result<profile::RecordOutcome>(profile::RecordOptions& record)>& recorded) {
  WM_ASSIGN(const auto place, place_of(context));
  const auto placed = collectives::placed_by(context.environment);
  if (!placed) return usage_error("--as-rank was not started by mpirun or srun");
  WM_ASSIGN(const auto client, reach(place, context.interrupted));
  const auto before = compare_clocks(client);
  WM_ASSIGN(const auto folder, ScratchFolder::make("ranks"));
  record.out = folder.path() / "rank.wmrec";
  const auto result = recorded(record);
  const auto outcome = result.ok() ? *result : profile::RecordOutcome();
  Json request{{"rank", placed->rank},
               {"host", device::host_name()},
               {"exit_code", outcome.exit_code},
               {"before", clock_json(before)},
               {"after", clock_json(compare_clocks(client))}};
  if (outcome.processes == 0) request["problem"] = result.ok() ? "the program made no CUDA call" : result.error().what;
  WM_TRY(send_recording(client, std::move(request), record.out));
  return command_exit_code(context, outcome.exit_code);
}

}  // namespace warpmark::apps
