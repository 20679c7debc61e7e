#include "watch/dashboard/live.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "model/fields/fields.h"
#include "model/machine_state.h"
#include "watch/dashboard/documents.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kNewestSessions = 5;

Json inspect_store(const LiveOptions& options) {
  const auto problem = [](const Error& error) {
    return Json{{"up", false}, {"problem", error.what}, {"hint", error.hint}, {"sessions", Json::array()}};
  };
  const auto store = options.open_store();
  if (!store.ok()) return problem(store.error());
  const auto sessions = (*store)->sessions({.limit = kNewestSessions});
  if (!sessions.ok()) return problem(sessions.error());
  Json list = Json::array();
  for (const auto& session : *sessions) {
    Json json = write(kSessionRow, session);
    json["rounds_pending"] = session.unmerged_rounds;
    list.push_back(std::move(json));
  }
  return Json{{"up", true}, {"sessions", std::move(list)}};
}

}  // namespace

Live::Live(LiveOptions options, std::function<bool()> listened, std::function<void(const std::string&)> notify)
    : options_(std::move(options)), listened_(std::move(listened)), notify_(std::move(notify)) {
  store_ = std::thread([this] { watch_store(); });
  machine_ = std::thread([this] { watch_machine(); });
}

Live::~Live() {
  stopped_ = true;
  machine_.join();
  store_.join();
}

bool Live::pause() {
  const auto until_ns = monotonic_ns() + static_cast<std::int64_t>(options_.interval_s * 1e9);
  while (!stopped_ && monotonic_ns() < until_ns) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !stopped_;
}

void Live::watch_machine() {
  monitor::Sampler sampler({.root = options_.root, .host = options_.host, .processes = 8}, options_.gpus);
  do {
    if (!listened_()) continue;
    const auto unix_s = wall_clock_s();
    const auto state =
        sampler.sample({.unix_ns = static_cast<std::int64_t>(unix_s * 1e9), .monotonic_ns = monotonic_ns()});
    Json document{{"schema", "warpmark.live/1"}, {"time", format_utc(unix_s)}, {"machine", to_json(state)}};
    {
      const std::lock_guard lock(mutex_);
      if (!stored_.empty()) document["store"] = Json::parse(stored_);
    }
    notify_(dump_json(document, -1));
  } while (pause());
}

void Live::watch_store() {
  do {
    if (!listened_()) continue;
    std::string probed = dump_json(inspect_store(options_), -1);
    const std::lock_guard lock(mutex_);
    stored_ = std::move(probed);
  } while (pause());
}

}  // namespace warpmark::watch
