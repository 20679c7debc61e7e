// All that `warpmark watch` knows between two looks, and its file: written at once and whole, so that kill -9 leaves
// the old or the new one.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/states.h"

namespace warpmark::watch {

// Messages that are on their way, one queue for each sink: in order, tried again after a failure ever more slowly, and
// never given up. Pure.

/// Messages that wait for one sink, at most: some weeks of a sink that is gone. The oldest go first then.
inline constexpr std::size_t kMostWaiting = 1000;
inline constexpr double kFirstRetry_s = 1;
inline constexpr double kLongestRetry_s = 300;

class Outbox {
 public:
  struct Queue {
    std::deque<Message> messages;
    std::int64_t attempts = 0;  ///< of the first one, that failed
    double next_s = 0;          ///< watch time before which it is not tried
    std::int64_t dropped = 0;   ///< since the start
    bool sending = false;
  };

  /// False if the oldest message of the sink had to go for it.
  bool add(Message message);
  /// The message to send now; nullptr if there is none, it is not time yet, or one is being sent.
  [[nodiscard]] const Message* due(const std::string& sink, double watch_s) const;
  void sending(const std::string& sink) { queues_[sink].sending = true; }
  void delivered(const std::string& sink);
  /// Tried again after 1 s, 2 s, 4 s, ... 5 min, but not before the sink says so.
  void failed(const std::string& sink, double watch_s, double retry_after_s);
  [[nodiscard]] bool waits(const std::string& sink, const Labels& group) const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::optional<double> next_s() const;

  [[nodiscard]] std::map<std::string, Queue>& queues() { return queues_; }
  [[nodiscard]] const std::map<std::string, Queue>& queues() const { return queues_; }

 private:
  std::map<std::string, Queue> queues_;
};

/// A live series that was there once: by it one notices that it is not any more.
struct SeenSeries {
  Labels labels;
  double last_s = 0;  ///< watch time
};
/// By rule, then by key_of.
using Seen = std::map<std::string, std::map<std::string, SeenSeries>>;

struct WatchState {
  Instant at;          ///< when it was as it is here
  bool ended = false;  ///< nobody goes on with it, and that is meant so: the exporter reports no heartbeat then
  AlertStates states;
  AlertGroups groups;
  Outbox outbox;
  Seen seen;
};

/// "warpmark.watch_state/1" (docs/schema/watch_state.schema.json).
struct KeptState;
extern const RecordOf<KeptState> kKeptState;
[[nodiscard]] Json to_json(const WatchState& state);
/// Data error for what is no such state.
[[nodiscard]] Result<WatchState> watch_state_from(const Json& json);

/// Holds the file, as two watchers of one state would tell everything twice.
class StateFile {
 public:
  /// Environment error if another process holds it, or its folder is not there.
  [[nodiscard]] static Result<StateFile> open(const std::filesystem::path& path);
  ~StateFile();
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&&) = delete;
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  /// Nothing if there is no file yet. A file that is damaged is put aside as FILE.damaged, and is a data error once.
  [[nodiscard]] Result<std::optional<WatchState>> load() const;
  [[nodiscard]] Status save(const WatchState& state) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  StateFile(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace warpmark::watch
