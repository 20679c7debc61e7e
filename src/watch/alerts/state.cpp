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
#include "base/untrusted/read_fields.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kLargestState = 256 << 20;

Json pairs_json(const Labels& labels) {
  Json json = Json::array();
  for (const auto& [name, value] : labels) json.push_back({name, value});
  return json;
}

Labels pairs_from(const Json& json) {
  Labels labels;
  for (const auto& pair : json) labels.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return labels;
}

void read_groups(const Json& json, WatchState& state) {
  for (const auto& item : json) {
    AlertGroup group{.sink = item.at("sink").get<std::string>(), .labels = pairs_from(item.at("labels"))};
    group.next_s = item.at("next_s").get<double>();
    if (item.contains("told_s")) group.notified_s = item.at("told_s").get<double>();
    group.messages = item.at("messages").get<std::int64_t>();
    state.groups.groups().emplace(key_of(group.sink, group.labels), group);
  }
}

Status read_outbox(const Json& json, WatchState& state) {
  for (const auto& item : json) {
    Outbox::Queue queue;
    for (const auto& one : item.at("messages")) {
      WM_ASSIGN(auto message, kept_message(one));
      queue.messages.push_back(std::move(message));
    }
    queue.dropped = item.at("dropped").get<std::int64_t>();
    state.outbox.queues().emplace(item.at("sink").get<std::string>(), std::move(queue));
  }
  return {};
}

Result<WatchState> read_state(const Json& json) {
  if (json.at("schema").get<std::string>() != kStateSchema) return data_error("it is of another version");
  WatchState state;
  state.at = {json.at("watch_s").get<double>(), json.at("wall_s").get<double>()};
  for (const auto& item : json.at("alerts")) {
    WM_ASSIGN(auto alert, kept_alert(item));
    state.states.alerts().emplace(key_of(alert.rule, alert.labels), alert);
  }
  read_groups(json.at("groups"), state);
  WM_TRY(read_outbox(json.at("outbox"), state));
  for (const auto& item : json.at("seen")) {
    const auto rule = item.at("rule").get<std::string>();
    const auto labels = pairs_from(item.at("labels"));
    state.seen[rule].emplace(key_of(rule, labels), SeenSeries{labels, item.at("last_s").get<double>()});
  }
  return state;
}

}  // namespace

Json to_json(const WatchState& state) {
  Json json = {{"schema", kStateSchema}, {"watch_s", state.at.watch_s}, {"wall_s", state.at.wall_s}};
  json["ended"] = state.ended;
  json["alerts"] = Json::array();
  for (const auto& [key, alert] : state.states.alerts()) json["alerts"].push_back(kept_json(alert));
  json["groups"] = Json::array();
  for (const auto& [key, group] : state.groups.groups()) {
    Json item = {{"sink", group.sink},
                 {"labels", pairs_json(group.labels)},
                 {"next_s", group.next_s},
                 {"messages", group.messages}};
    if (group.notified_s) item["told_s"] = *group.notified_s;
    json["groups"].push_back(std::move(item));
  }
  json["outbox"] = Json::array();
  for (const auto& [sink, queue] : state.outbox.queues()) {
    Json messages = Json::array();
    for (const auto& message : queue.messages) messages.push_back(kept_json(message));
    json["outbox"].push_back({{"sink", sink}, {"messages", std::move(messages)}, {"dropped", queue.dropped}});
  }
  json["seen"] = Json::array();
  for (const auto& [rule, series] : state.seen) {
    for (const auto& [key, one] : series) {
      json["seen"].push_back({{"rule", rule}, {"labels", pairs_json(one.labels)}, {"last_s", one.last_s}});
    }
  }
  return json;
}

Result<WatchState> watch_state_from(const Json& json) {
  return read_fields("the state of the alerts", [&]() -> Result<WatchState> { return read_state(json); });
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
