// Writes one part of a recording. Part of the library that is loaded into foreign programs: it needs nothing but libc
// and the C++ runtime, never throws on input or output errors, and never prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/recording/format.h"

namespace warpmark::profile::recording {

/// Not thread safe. Chunks are buffered until flush().
class RecordingWriter {
 public:
  RecordingWriter() = default;
  ~RecordingWriter() { close(); }
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  /// False if the file cannot be made; error() is errno then.
  [[nodiscard]] bool open(const char* path);
  [[nodiscard]] bool is_open() const { return file_ >= 0; }

  void metadata(std::string_view key, std::string_view value);
  [[nodiscard]] std::uint32_t name(std::string_view text);
  /// The id of the track with these properties; `TrackRecord::id` is ignored.
  [[nodiscard]] std::uint32_t track(TrackRecord track, std::string_view track_name);
  [[nodiscard]] std::uint32_t shape(ShapeRecord shape);
  void event(const EventRecord& event);
  /// A chunk that somebody else put together: names in it come from name().
  void add_chunk(ChunkType type, const std::string& payload) { chunk(type, payload); }
  void counter(std::string_view id, std::string_view unit, std::int32_t device, const CounterRecord& sample);

  /// Hands everything so far to the kernel, which keeps it when the program is killed.
  void flush();
  /// Marks the part as complete; another may begin in the same file, with names, tracks and shapes anew.
  void end_part();
  void begin_part();
  /// Throws away all that was written to the file, which is as after open().
  void begin_anew();
  /// Marks the part as complete and closes the file.
  void finish();
  void close();

  [[nodiscard]] int error() const { return error_; }  ///< errno of the first failed write, 0 if none
  [[nodiscard]] std::int64_t events_written() const { return events_written_; }

 private:
  void chunk(ChunkType type, const std::string& payload);
  void write_events();
  void write_counters();

  struct CounterSeries {
    std::string head;
    std::string samples;
  };

  int file_ = -1;
  int error_ = 0;
  std::int64_t events_written_ = 0;
  std::string pending_;
  std::vector<EventRecord> events_;
  std::unordered_map<std::string, CounterSeries> counters_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> tracks_;
  std::unordered_map<std::string, std::uint32_t> shapes_;
};

/// CRC-32 (ISO 3309, as in gzip).
[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

}  // namespace warpmark::profile::recording
