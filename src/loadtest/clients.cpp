#include "loadtest/clients.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "collectives/start/launch.h"
#include "collectives/start/worker.h"
#include "device/machine.h"
#include "http/socket.h"
#include "loadtest/measure.h"
#include "serving/client/load_client.h"
#include "serving/files/outcome_file.h"

namespace warpmark::loadtest {
namespace {

constexpr const char* kClientVariable = "WARPMARK_LOAD_CLIENT";
constexpr double kReadyWithin_s = 120, kEndWithin_s = 120;

struct ClientTask {
  std::string host;
  std::uint16_t port = 0;
  std::string token;
  std::string scenario;
  std::int64_t users = 0;
  double rate = 0;
  std::int64_t batch = 1, turns = 1;
  std::uint64_t seed = 1, shared_seed = 1;
  serving::TokenFit fit;
  int clients = 1;
};

constexpr Field kTaskFields[] = {
    field<&ClientTask::host>("host"),
    field<&ClientTask::port>("port"),
    field<&ClientTask::token>("token"),
    field<&ClientTask::scenario>("scenario"),
    field<&ClientTask::users>("users"),
    field<&ClientTask::rate>("rate"),
    field<&ClientTask::batch>("batch"),
    field<&ClientTask::turns>("turns"),
    field<&ClientTask::seed>("seed").decimal_text(),
    field<&ClientTask::shared_seed>("shared_seed").decimal_text(),
    field<&ClientTask::fit, &serving::TokenFit::fixed>("fixed"),
    field<&ClientTask::fit, &serving::TokenFit::per_word>("per_word"),
    field<&ClientTask::clients>("clients"),
};
constexpr RecordOf<ClientTask> kTask{"task", "", kTaskFields};

Result<ClientTask> task_of(const std::string& text) {
  WM_ASSIGN(const Json json, parse_json(text, kClientVariable));
  WM_ASSIGN(auto task, read(kTask, json));
  task.fit.measured = true;
  return task;
}

bool wait_for(int fd, short what, int timeout_ms) {
  pollfd entry{fd, what, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

Status send_all(const http::Socket& socket, std::string_view bytes, double within_s) {
  const std::int64_t deadline_ns = monotonic_ns() + static_cast<std::int64_t>(within_s * 1e9);
  while (!bytes.empty()) {
    const auto sent = http::send_to(socket, bytes);
    if (sent.failed) return environment_error("the connection between clients broke: " + http::errno_text(sent.error));
    bytes.remove_prefix(sent.bytes);
    if (monotonic_ns() > deadline_ns) return environment_error("the other side takes no more bytes");
    if (!bytes.empty()) (void)wait_for(socket.fd(), POLLOUT, 100);
  }
  return {};
}

/// What has arrived is handed to `take`; false at the end of the connection.
bool receive_more(const http::Socket& socket, const std::function<void(std::string_view)>& take) {
  char buffer[65536];
  for (;;) {
    const auto got = http::receive_from(socket, buffer);
    if (got.state == http::Received::State::would_block) return true;
    if (got.state != http::Received::State::data) return false;
    take({buffer, got.bytes});
  }
}

bool receive_text(const http::Socket& socket, std::string& text) {
  return receive_more(socket, [&](std::string_view bytes) { text.append(bytes); });
}

std::string random_token() {
  unsigned char bytes[16];
  WM_CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

struct Peer {
  http::Socket socket;
  serving::OutcomeReader outcome;
  std::string greeting;
  Status read;  ///< of its outcome
  bool ready = false;
  bool ended = false;
};

/// The side that starts the clients and waits for them.
class ClientHub {
 public:
  ClientHub(const Surroundings& around, const PreparedLoad& request, ClientTask task)
      : around_(around), request_(request), task_(std::move(task)) {}

  Result<serving::LoadOutcome> run() {
    WM_ASSIGN(spool_, serving::RecordSpool::open({}));
    WM_TRY(open());
    WM_TRY(launch());
    const Status reported = converse();
    stop_launcher_.store(!reported.ok());
    launcher_.join();
    if (!reported.ok()) return with_launcher_words(reported.error());
    std::vector<serving::LoadOutcome> outcomes;
    for (auto& peer : peers_) {
      WM_TRY(peer.read);
      WM_ASSIGN(auto outcome, peer.outcome.finish());
      outcomes.push_back(std::move(outcome));
    }
    serving::LoadOutcome merged = serving::merge_outcomes(std::move(outcomes));
    WM_ASSIGN(merged.records, spool_->finish(merged.gaps_of_one_in));
    return merged;
  }

 private:
  Status open() {
    task_.host = request_.hosts.empty() ? "127.0.0.1" : device::host_name();
    if (task_.host.empty()) return environment_error("the name of this machine cannot be read");
    WM_ASSIGN(const auto addresses, http::resolve(request_.hosts.empty() ? "127.0.0.1" : "0.0.0.0", 0));
    WM_ASSIGN(listening_, http::listen_on(addresses.front()));
    task_.port = http::local_address(listening_).port();
    task_.token = random_token();
    return {};
  }

  Status launch() {
    // Clients may share processors: they wait most of the time, and tell how late they sent.
    collectives::LaunchOptions launch{.ranks = task_.clients, .hosts = request_.hosts, .oversubscribe = true};
    launch.environment = {{kClientVariable, dump_json(write(kTask, task_), -1)}};
    for (const char* name :
         {"MODEL_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"}) {
      if (around_.environment(name) != nullptr) launch.environment.emplace_back(name, around_.environment(name));
    }
    WM_ASSIGN(auto words, collectives::launcher_words(launch, collectives::launch_place(around_.environment)));
    WM_ASSIGN(const auto self, own_executable());
    words.push_back(self.string());
    words.insert(words.end(), around_.words.begin(), around_.words.end());
    // In a group of its own: Ctrl-C is for us, who ask the clients to end and to tell what they measured.
    ProcessOptions options{.deadline_s = 7 * 86400.0,
                           .environment = launch.environment,
                           .own_group = true,
                           .should_stop = [this] { return stop_launcher_.load(); },
                           .grace_s = 2};
    launcher_ = std::thread([this, words, options] {
      launched_ = run_process(words, options);
      launcher_ended_.store(true);
    });
    return {};
  }

  void accept_all() {
    for (auto socket = http::accept_from(listening_); socket.open(); socket = http::accept_from(listening_)) {
      serving::OutcomeReader outcome([this](std::string block) { spool_->take(std::move(block)); });
      peers_.push_back({.socket = std::move(socket), .outcome = std::move(outcome), .greeting = {}, .read = {}});
    }
  }

  /// Reads from all; strangers, who do not know the token, are sent away.
  void hear() {
    accept_all();
    for (auto& peer : peers_) {
      if (peer.ended) continue;
      peer.ended = !receive_more(peer.socket, [&](std::string_view bytes) { take(peer, bytes); }) || !peer.read.ok();
    }
    std::erase_if(peers_, [](const Peer& peer) { return !peer.ready && (peer.ended || peer.greeting.size() > 64); });
  }

  /// First that it is ready, with the token, then its outcome.
  void take(Peer& peer, std::string_view bytes) {
    if (peer.ready) {
      if (peer.read.ok()) peer.read = peer.outcome.take(bytes);
      return;
    }
    if (peer.greeting.size() > 64) return;  // a stranger
    peer.greeting.append(bytes);
    const std::string ready = "ready " + task_.token + "\n";
    if (!peer.greeting.starts_with(ready)) return;
    peer.ready = true;
    peer.read = peer.outcome.take(std::string_view(peer.greeting).substr(ready.size()));
  }

  [[nodiscard]] std::size_t count(bool Peer::*what) const {
    return static_cast<std::size_t>(
        std::count_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.*what; }));
  }

  Status notify_all(std::string_view words) {
    for (auto& peer : peers_) {
      if (!peer.ended) WM_TRY(send_all(peer.socket, words, 10));
    }
    return {};
  }

  Status converse() {
    const auto wanted = static_cast<std::size_t>(task_.clients);
    const auto since = [](std::int64_t ns) { return static_cast<double>(monotonic_ns() - ns) * 1e-9; };
    std::int64_t began_ns = monotonic_ns();
    while (count(&Peer::ready) < wanted) {
      if (around_.interrupted.load()) return environment_error("interrupted before the clients were ready");
      if (launcher_ended_.load()) return environment_error("the clients ended before they were ready");
      if (since(began_ns) > kReadyWithin_s) {
        return environment_error(
            fmt::format("{} of {} clients were ready within {:g} s", count(&Peer::ready), wanted, kReadyWithin_s),
            "can the hosts reach this one, and start warpmark from the same path?");
      }
      (void)wait_for(listening_.fd(), POLLIN, 50);
      hear();
    }
    WM_TRY(notify_all("go\n"));
    around_.say(fmt::format("{} clients are measuring", wanted));
    bool stopped = false;
    std::int64_t ended_ns = 0;
    while (count(&Peer::ended) < wanted) {
      if (around_.interrupted.load() && !stopped) {
        stopped = true;
        WM_TRY(notify_all("stop\n"));
      }
      if (launcher_ended_.load() && ended_ns == 0) ended_ns = monotonic_ns();
      if (ended_ns != 0 && since(ended_ns) > 2)
        return environment_error("a client ended before it reported its results");
      if (stopped && since(began_ns) > kEndWithin_s + 3600) return environment_error("the clients do not end");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      hear();
    }
    return {};
  }

  [[nodiscard]] Error with_launcher_words(Error error) const {
    if (launched_ && !launched_->ok()) error.what += ": " + launched_->error().what;
    if (launched_ && launched_->ok() && !(*launched_)->err.empty()) {
      error.what += ":\n" + (*launched_)->err.substr(0, 2000);
    }
    return error;
  }

  const Surroundings& around_;
  const PreparedLoad& request_;
  ClientTask task_;
  std::unique_ptr<serving::RecordSpool> spool_;
  http::Socket listening_;
  std::vector<Peer> peers_;
  std::thread launcher_;
  std::atomic<bool> stop_launcher_{false}, launcher_ended_{false};
  std::optional<Result<ProcessOutput>> launched_;
};

Result<http::Socket> connect_to(const ClientTask& task) {
  WM_ASSIGN(const auto addresses, http::resolve(task.host, task.port));
  WM_ASSIGN(auto socket, http::begin_connect(addresses.front()));
  if (!wait_for(socket.fd(), POLLOUT, 10'000)) {
    return environment_error("no connection to " + addresses.front().text() + ", where the load was started");
  }
  WM_TRY(http::outcome_of_connect(socket, addresses.front()));
  return socket;
}

}  // namespace

Result<serving::LoadOutcome> run_clients(const Surroundings& around, const PreparedLoad& request, const LoadStep& step,
                                         const serving::TokenFit& fit, const serving::LoadPlan& plan) {
  ClientTask task{.scenario = step.traffic.scenario.text,
                  .users = step.traffic.users,
                  .rate = step.traffic.arrivals.rate,
                  .batch = step.traffic.batch,
                  .turns = step.traffic.conversations.turns,
                  .seed = step.traffic.seed,
                  .shared_seed = step.traffic.shared_seed,
                  .fit = fit,
                  .clients = serving::parts_of(plan, request.clients)};
  return ClientHub(around, request, std::move(task)).run();
}

bool is_load_client(const Surroundings& around) { return around.environment(kClientVariable) != nullptr; }

Status load_as_client(const LoadRequest& asked, const Surroundings& around) {
  WM_ASSIGN(const PreparedLoad request, prepare(asked, around));
  WM_ASSIGN(const ClientTask task, task_of(around.environment(kClientVariable)));
  const auto placed = collectives::placed_by(around.environment);
  if (!placed) return environment_error("a client must be started by mpirun or srun");
  const auto found = std::find_if(request.steps.begin(), request.steps.end(), [&](const LoadStep& step) {
    return step.traffic.scenario.text == task.scenario && step.traffic.batch == task.batch &&
           step.traffic.conversations.turns == task.turns;
  });
  if (found == request.steps.end()) return internal_error("a client knows no scenario " + task.scenario);
  LoadStep step = *found;
  step.traffic.users = task.users;
  step.traffic.seed = task.seed;
  step.traffic.shared_seed = task.shared_seed;
  step.traffic.arrivals.rate = task.rate;
  if (task.users > 0) {
    step.traffic.arrivals = {};
  } else if (step.traffic.arrivals.kind == serving::ArrivalKind::closed) {  // a rate that a sweep has chosen
    step.traffic.arrivals.kind = serving::ArrivalKind::poisson;
  }
  std::atomic<bool> stop{false}, ended{false};
  WM_ASSIGN(auto whole, plan_of(around, request, step, task.fit));
  serving::LoadPlan plan = serving::part_of(whole, placed->rank, task.clients);
  plan.interrupted = &stop;
  WM_ASSIGN(const auto socket, connect_to(task));
  WM_TRY(send_all(socket, "ready " + task.token + "\n", 10));
  std::string heard;
  for (const std::int64_t began_ns = monotonic_ns(); heard.find("go\n") == std::string::npos;) {
    (void)wait_for(socket.fd(), POLLIN, 100);
    if (!receive_text(socket, heard)) return environment_error("the load was ended before it began");
    if (static_cast<double>(monotonic_ns() - began_ns) * 1e-9 > 2 * kReadyWithin_s) {
      return environment_error("not all clients became ready");
    }
  }
  std::optional<Result<serving::LoadOutcome>> outcome;
  std::thread load([&] {
    outcome = serving::run_load_on(std::move(plan), request.threads, {});
    ended.store(true);
  });
  while (!ended.load()) {
    (void)wait_for(socket.fd(), POLLIN, 50);
    const bool there = receive_text(socket, heard);
    if (!there || heard.find("stop\n") != std::string::npos) stop.store(true);
    if (!there || stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  load.join();
  if (!outcome->ok()) return outcome->error();
  WM_TRY(serving::send_outcome(**outcome, device::host_name(),
                               [&](std::string_view bytes) { return send_all(socket, bytes, 600); }));
  return {};
}

}  // namespace warpmark::loadtest
