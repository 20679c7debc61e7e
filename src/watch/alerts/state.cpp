#include "watch/alerts/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kLargestState = 256 << 20;

}  // namespace

/// What the file holds: lists, as the keys of maps are made from their values.
struct KeptQueue {
  std::string sink;
  std::vector<Message> messages;
  std::int64_t dropped = 0;
};
struct KeptSeries {
  std::string rule;
  SeenSeries seen;
};
struct KeptState {
  Instant at;
  bool ended = false;
  std::vector<Alert> alerts;
  std::vector<AlertGroup> groups;
  std::vector<KeptQueue> outbox;
  std::vector<KeptSeries> seen;
};

namespace {

constexpr Field kGroupFields[] = {field<&AlertGroup::sink>("sink"),
                                  field<&AlertGroup::labels>("labels").formed(kLabelForm),
                                  field<&AlertGroup::next_s>("next_s"), field<&AlertGroup::messages>("messages"),
                                  field<&AlertGroup::notified_s>("told_s", "When its last message was made.")};
constexpr RecordOf<AlertGroup> kGroup{"group", "", kGroupFields};

constexpr Field kQueueFields[] = {field<&KeptQueue::sink>("sink"),
                                  field<&KeptQueue::messages>("messages", "", kKeptMessage),
                                  field<&KeptQueue::dropped>("dropped")};
constexpr RecordOf<KeptQueue> kQueue{"queue", "", kQueueFields};

constexpr Field kSeriesFields[] = {field<&KeptSeries::rule>("rule"),
                                   field<&KeptSeries::seen, &SeenSeries::labels>("labels").formed(kLabelForm),
                                   field<&KeptSeries::seen, &SeenSeries::last_s>("last_s")};
constexpr RecordOf<KeptSeries> kSeries{"series", "", kSeriesFields};

constexpr Field kKeptStateFields[] = {
    field<&KeptState::at, &Instant::watch_s>("watch_s", "By a clock that never goes back."),
    field<&KeptState::at, &Instant::wall_s>("wall_s", "Since 1970."),
    field<&KeptState::ended>("ended", "The watch was ended on purpose.").added_later(),
    field<&KeptState::alerts>("alerts", "", kKeptAlert),
    field<&KeptState::groups>("groups", "", kGroup),
    field<&KeptState::outbox>("outbox", "Messages on their way.", kQueue),
    field<&KeptState::seen>("seen", "Live series that were there.", kSeries)};

}  // namespace

constexpr RecordOf<KeptState> kKeptState{"state", "What `warpmark watch` keeps between two looks.", kKeptStateFields,
                                         "warpmark.watch_state/1"};

Json to_json(const WatchState& state) {
  KeptState kept{.at = state.at, .ended = state.ended};
  for (const auto& [key, alert] : state.states.alerts()) kept.alerts.push_back(alert);
  for (const auto& [key, group] : state.groups.groups()) kept.groups.push_back(group);
  for (const auto& [sink, queue] : state.outbox.queues()) {
    kept.outbox.push_back({sink, {queue.messages.begin(), queue.messages.end()}, queue.dropped});
  }
  for (const auto& [rule, series] : state.seen) {
    for (const auto& [key, one] : series) kept.seen.push_back({rule, one});
  }
  return write(kKeptState, kept);
}

Result<WatchState> watch_state_from(const Json& json) {
  WM_ASSIGN(const KeptState kept, read(kKeptState, json));
  WatchState state{.at = kept.at};
  for (const auto& alert : kept.alerts) state.states.alerts().emplace(key_of(alert.rule, alert.labels), alert);
  for (const auto& group : kept.groups) state.groups.groups().emplace(key_of(group.sink, group.labels), group);
  for (const auto& [sink, messages, dropped] : kept.outbox) {
    state.outbox.queues()[sink] = {.messages = {messages.begin(), messages.end()}, .dropped = dropped};
  }
  for (const auto& [rule, seen] : kept.seen) state.seen[rule].emplace(key_of(rule, seen.labels), seen);
  return state;
}

Result<StateFile> StateFile::open(const std::filesystem::path& path) {
  WM_TRY(check_folder_of(path));
  const std::string auxiliary = path.string() + ".lock";
  const int lock = ::open(auxiliary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) {
    return environment_error("cannot make " + auxiliary + ": " + std::strerror(errno),
                             "name a file in a folder that you can write: --state FILE");
  }
  StateFile file(path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return environment_error("another warpmark watch runs with the state " + path.string(),
                             "end it, or give this one a state of its own: --state FILE");
  }
  return file;
}

StateFile::StateFile(StateFile&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StateFile::~StateFile() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::optional<WatchState>> StateFile::load() const {
  std::error_code code;
  if (!std::filesystem::exists(path_, code)) return std::optional<WatchState>();
  WM_ASSIGN(const auto text, read_file(path_, kLargestState));
  const auto json = parse_json(text, path_.string());
  auto state = json.ok() ? watch_state_from(*json) : Result<WatchState>(json.error());
  if (state.ok()) return std::optional<WatchState>(std::move(*state));
  const auto aside = path_.string() + ".damaged";
  std::filesystem::rename(path_, aside, code);
  return data_error("the state " + path_.string() + " cannot be read: " + state.error().what,
                    "it was put aside as " + aside + "; firing alerts are sent again");
}

Status StateFile::save(const WatchState& state) const {
  return write_file(path_, dump_json(to_json(state), -1) + "\n");
}

bool Outbox::add(Message message) {
  Queue& queue = queues_[message.sink];
  queue.messages.push_back(std::move(message));
  if (queue.messages.size() <= kMostWaiting) return true;
  // The one that is being sent stays, as its outcome is about it.
  queue.messages.erase(queue.messages.begin() + (queue.sending ? 1 : 0));
  ++queue.dropped;
  return false;
}

const Message* Outbox::due(const std::string& sink, double watch_s) const {
  const auto found = queues_.find(sink);
  if (found == queues_.end() || found->second.messages.empty() || found->second.sending) return nullptr;
  return found->second.next_s <= watch_s ? &found->second.messages.front() : nullptr;
}

void Outbox::delivered(const std::string& sink) {
  Queue& queue = queues_[sink];
  queue.sending = false;
  queue.attempts = 0;
  queue.next_s = 0;
  if (!queue.messages.empty()) queue.messages.pop_front();
}

void Outbox::failed(const std::string& sink, double watch_s, double retry_after_s) {
  Queue& queue = queues_[sink];
  queue.sending = false;
  const double wait_s = kFirstRetry_s * std::pow(2.0, static_cast<double>(std::min<std::int64_t>(queue.attempts, 20)));
  ++queue.attempts;
  queue.next_s = watch_s + std::max(std::min(wait_s, kLongestRetry_s), retry_after_s);
}

bool Outbox::waits(const std::string& sink, const Labels& group) const {
  const auto found = queues_.find(sink);
  if (found == queues_.end()) return false;
  const auto& waiting = found->second.messages;
  return std::any_of(waiting.begin(), waiting.end(), [&](const Message& message) { return message.group == group; });
}

std::size_t Outbox::size() const {
  std::size_t count = 0;
  for (const auto& [sink, queue] : queues_) count += queue.messages.size();
  return count;
}

std::optional<double> Outbox::next_s() const {
  std::optional<double> next;
  for (const auto& [sink, queue] : queues_) {
    if (queue.messages.empty() || queue.sending) continue;
    if (!next || queue.next_s < *next) next = queue.next_s;
  }
  return next;
}

}  // namespace warpmark::watch
