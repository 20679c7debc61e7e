// One event of a Chrome trace as PyTorch's profiler writes it: the fields that matter, and the compact record they
// become. Parsing threads work on pieces of the text ("blocks") of their own; kineto_merge joins what they made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::profile {

/// A process or thread: a number, or a text where the file has one ("Spans").
struct RowId {
  std::int64_t number = 0;
  std::string_view text;
  [[nodiscard]] bool is_text() const { return !text.empty(); }
  friend bool operator==(const RowId&, const RowId&) = default;
};

/// Raw texts point into the block. Numbers that are absent keep these defaults.
struct EventArgs {
  std::int64_t external_id = 0;
  std::int64_t correlation = 0;
  std::int64_t device = -1;
  std::int64_t stream = INT64_MIN;
  std::int64_t bytes = 0;
  LaunchShape shape;
  std::int64_t wait_stream = -1;
  std::int64_t device_type = 0;
  std::int64_t device_id = -1;
  std::int64_t total_allocated = -1;
  std::int64_t total_reserved = -1;
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int64_t group_size = 0;
  std::int64_t sequence = -1;
  std::int64_t rank = -1;     ///< of files that a tool merged
  std::int64_t raw_pid = -1;  ///< likewise: the process before its id was made unique; of GPU work the device
  std::string_view collective;
  std::string_view data_type;
  std::string_view group;
  std::string_view input_dims;
  std::string_view sync_kind;
  std::string_view name;            ///< of a metadata row
  std::string_view track_kind;      ///< likewise, of our own writer: "stream" or "thread"
  std::int64_t value = INT64_MIN;   ///< of our own writer, for what Kineto has no fields for
  std::int64_t detail = INT64_MIN;  ///< likewise
  bool odd = false;                 ///< some had no number where one belongs
};

struct EventFields {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view ts;  ///< as text; microseconds
  std::string_view dur;
  std::string_view id;
  std::string_view args_text;  ///< with its braces; of counters only
  RowId process;
  RowId thread;
  EventArgs args;
};

/// 48 bytes. Names, tracks and shapes are numbers of the thread that parsed it.
struct RawEvent {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t value = 0;
  std::uint32_t name = 0;
  std::uint32_t track = 0;
  std::uint32_t correlation = 0;
  std::uint32_t link = 0;
  std::uint32_t detail = 0;  ///< of a kernel a shape, of an operator a name plus one
  EventKind kind = EventKind::other;
};

struct RawCollective {
  std::uint32_t event = 0;  ///< index within the batch
  std::uint32_t name = 0, data_type = 0, group = 0;
  std::int64_t in_elements = 0, out_elements = 0, group_size = 0, sequence = -1;
};

/// A value of a counter; with `is_memory` the allocator's totals.
struct RawCounter {
  std::uint32_t name = 0;
  std::uint32_t unit = 0;
  int device = -1;
  std::int64_t time = 0;
  double value = 0;
  bool is_memory = false;
};

/// A row that begins ('B') or ends ('E') an event of its process and thread.
struct RawBracket {
  std::int64_t process = 0, thread = 0, time = 0;
  std::uint32_t event = 0;  ///< index within the batch of what begins; kEndBracket: the one that was opened last ends
};
inline constexpr std::size_t kMostCategories = 5;  // that are named
inline constexpr std::uint32_t kEndBracket = 0xFFFFFFFF;

struct RawTrackName {
  std::int64_t process = 0, thread = 0;
  std::string name;
  std::optional<TrackKind> kind;  ///< if the row tells
};

enum class Flaw : std::uint8_t {
  malformed,     ///< not JSON, but its fields could be made out
  unreadable,    ///< given up
  truncated,     ///< the text ends within it
  not_a_number,  ///< ts or dur
  no_time,
  other_phase,  ///< of no use here, as asynchronous rows are
  profiler_row,
  large_id,
  odd_argument,  ///< a word where an argument has a number
  text_id,       ///< of a process or thread
  count
};

/// What one block became. Numbers of names, tracks and shapes go on from the batch of the same thread before it.
struct EventBatch {
  std::vector<RawEvent> events;
  std::vector<RawCollective> collectives;
  std::vector<RawCounter> counters;
  std::vector<RawTrackName> track_names;
  std::vector<RawBracket> brackets;
  std::vector<std::uint64_t> flows;  ///< id * 4 + 2 for gpu arrows + 1 for their ends
  std::vector<std::string_view> new_texts;
  std::vector<Track> new_tracks;
  std::vector<int> new_ranks;  ///< of the new tracks; -1 where their events say none
  std::vector<LaunchShape> new_shapes;
  std::vector<std::string> new_categories;           ///< that are not known, the first few
  bool restart = false;                              ///< the thread forgot its earlier names, tracks and shapes
  std::vector<std::shared_ptr<char[]>> kept_memory;  ///< with `restart`: the texts of the batches before
  std::int64_t rows = 0;
  std::array<std::int64_t, static_cast<std::size_t>(Flaw::count)> flaws{};
  std::array<std::string, static_cast<std::size_t>(Flaw::count)> examples;
};

}  // namespace warpmark::profile
