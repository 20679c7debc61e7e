// Parses blocks of the list of events of a Chrome trace. One KinetoParser a thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "profile/readers/chrome/kineto_fields.h"
#include "profile/readers/text/line_reader.h"

namespace warpmark::profile {

class XlaRows;

/// Why and where parsing of a block stopped.
struct BlockStop {
  enum class Why {
    end,          ///< all was read
    incomplete,   ///< the event at `at` does not end within the block
    end_of_list,  ///< `at` is the ']' of the list
  };
  Why why = Why::end;
  const char* at = nullptr;
};

/// What comes after a block.
enum class Ending {
  more_follows,
  too_long,  ///< more, but the block grew so long for its first event that this one is broken: make do
  final,     ///< nothing: no event is incomplete then
};

/// Not thread safe.
class KinetoParser {
 public:
  /// `xla` lives longer: it says what the events of XLA's profiler mean.
  explicit KinetoParser(const ScanFunctions& scan = scan_functions(), const XlaRows* xla = nullptr);

  /// [begin, end) is a piece of the list that begins between two events, followed by the padding of json_scan.h.
  /// `batch` is a fresh one.
  [[nodiscard]] BlockStop parse(const char* begin, const char* end, Ending ending, EventBatch& batch);

 private:
  [[nodiscard]] const char* parse_carefully(const char* p, const char* end, bool final, EventBatch& batch);
  void record(const EventFields& fields, EventBatch& batch);
  void record_phase(const EventFields& fields, EventBatch& batch);
  void record_bracket(const EventFields& fields, bool begins, EventBatch& batch);
  std::string_view on_one_line(std::string_view list);
  void record_event(const EventFields& fields, EventBatch& batch);
  void record_memory(const EventFields& fields, RawEvent& event, EventBatch& batch);
  void record_counter(const EventFields& fields, EventBatch& batch);
  void record_metadata(const EventFields& fields, EventBatch& batch);
  void record_flow(const EventFields& fields, EventBatch& batch);
  [[nodiscard]] std::uint32_t id_of(std::int64_t id, const EventFields& fields, EventBatch& batch);
  [[nodiscard]] std::uint32_t track_of(const EventFields& fields, EventKind kind, EventBatch& batch);
  [[nodiscard]] std::uint32_t shape_of(const LaunchShape& shape, EventBatch& batch);
  [[nodiscard]] bool read_times(const EventFields& fields, RawEvent& event, EventBatch& batch);
  void note_category(std::string_view category, EventBatch& batch);
  void restart_if_large(EventBatch& batch);
  using RankedTrack = std::pair<Track, int>;
  struct TrackOrder {
    bool operator()(const RankedTrack& a, const RankedTrack& b) const;
  };
  struct ShapeHash {
    std::size_t operator()(const LaunchShape& shape) const;
  };

  struct TrackMemo {
    std::int64_t first = -1, second = -1;  ///< process and thread, or device and stream
    int rank = -1;
    std::uint32_t track = 0;
    bool valid = false;
  };

  const ScanFunctions& scan_;
  const XlaRows* xla_;
  std::string scratch_;
  std::string one_line_;
  std::string xla_name_;
  TextTable texts_;
  std::map<RankedTrack, std::uint32_t, TrackOrder> tracks_;
  std::unordered_map<LaunchShape, std::uint32_t, ShapeHash> shapes_;
  std::vector<std::string> categories_;  ///< that are not known
  TrackMemo memo_[2];                    ///< the last thread and the last stream
};

}  // namespace warpmark::profile
