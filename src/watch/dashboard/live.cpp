#include "watch/dashboard/live.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "model/fields/fields.h"
#include "model/json/json_parts.h"
#include "watch/dashboard/documents.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kNewestSessions = 5;

StoreState state_of_store(const LiveOptions& options) {
  const auto down = [](const Error& error) { return StoreState{false, error.what, error.hint, {}}; };
  const auto store = options.open_store();
  if (!store.ok()) return down(store.error());
  const auto sessions = (*store)->sessions({.limit = kNewestSessions});
  if (!sessions.ok()) return down(sessions.error());
  StoreState state{.up = true};
  for (const auto& session : *sessions) state.sessions.push_back({session});
  return state;
}

constexpr Field kLiveSessionFields[] = {
    inlined<&LiveSession::session>(kSessionRow),
    field<&LiveSession::session, &store::SessionSummary::unmerged_rounds>("rounds_pending",
                                                                          "Rounds of cases that are not complete.")
        .within(kNonNegative),
};
constexpr RecordOf<LiveSession> kLiveSession{"live_session", "", kLiveSessionFields};

constexpr Field kStoreStateFields[] = {
    field<&StoreState::up>("up"),
    field<&StoreState::problem>("problem"),
    field<&StoreState::hint>("hint"),
    field<&StoreState::sessions>("sessions", "", kLiveSession),
};
constexpr RecordOf<StoreState> kStoreState{"store_state", "", kStoreStateFields};

constexpr Field kLivePageFields[] = {
    field<&LivePage::time>("time", "UTC."),
    field<&LivePage::machine>("machine", "", kMachineState),
    field<&LivePage::store>("store", "", kStoreState),
};

}  // namespace

constexpr RecordOf<LivePage> kLivePage{"live_page",
                                       "One event of the dashboard's /events, one a second while somebody listens.",
                                       kLivePageFields, "warpmark.live/1"};

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
    LivePage page{.time = format_utc(unix_s)};
    page.machine = sampler.sample({.unix_ns = static_cast<std::int64_t>(unix_s * 1e9), .monotonic_ns = monotonic_ns()});
    {
      const std::lock_guard lock(mutex_);
      page.store = stored_;
    }
    notify_(dump_json(write(kLivePage, page), -1));
  } while (pause());
}

void Live::watch_store() {
  do {
    if (!listened_()) continue;
    auto state = state_of_store(options_);
    const std::lock_guard lock(mutex_);
    stored_ = std::move(state);
  } while (pause());
}

}  // namespace warpmark::watch
