// All that `warpmark watch` knows between two looks, and its file: written at once and whole, so that kill -9 leaves
// the old or the new one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "watch/alerts/groups.h"
#include "watch/alerts/outbox.h"
#include "watch/alerts/states.h"

namespace warpmark::watch {

inline constexpr const char* kStateSchema = "warpmark.watch_state/1";

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
