// warpmark's own recording, as bytes (docs/recording.md). A file is a sequence of parts, one a process; a part is a
// sequence of chunks, each whole or not there: a reader takes every chunk whose checksum fits and stops at the first
// that does not, so that a killed program loses at most what was not flushed yet. Files are joined by joining their
// bytes. Little endian, as x86-64 is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpmark::profile::recording {

inline constexpr std::uint32_t kChunkMagic = 0x4B434D57;  // "WMCK"
inline constexpr std::uint32_t kVersion = 3;  // 2 adds kernels, 3 collectives; readers take all up to theirs
inline constexpr std::uint32_t kMaxPayload = 64U << 20;
inline constexpr const char* kSampledGpu = "sampled_gpu";  ///< metadata "device|uuid" of a part with counters

inline constexpr const char* kRecorderIssue = "recorder";

/// What kept the recorder from its work: the metadata "problem_id", before "problem" with the text for people. The
/// issue of a timeline has the id "recorder_" and one of these; "recorder" of files that have none.
inline constexpr const char* kNoCupti = "no_cupti";              ///< the library was not found, or cannot be used
inline constexpr const char* kOtherProfiler = "other_profiler";  ///< that holds CUPTI
inline constexpr const char* kNoRange = "no_range";              ///< what was to be recorded never began
inline constexpr const char* kNoWork = "no_work";                ///< nothing ran on the GPU while it was recorded
inline constexpr const char* kNoSteps = "no_steps";              ///< recorded by time instead

enum class ChunkType : std::uint16_t {
  begin = 1,        ///< u32 version; begins a part: all ids below start anew
  metadata = 2,     ///< texts in pairs: key, value
  name = 3,         ///< u32 id, text
  track = 4,        ///< TrackRecord, text (name)
  shape = 5,        ///< ShapeRecord
  events = 6,       ///< EventRecord...
  counters = 7,     ///< u32 name id of the counter, u32 name id of its unit, i32 device, u32 0, then CounterRecord...
  end = 8,          ///< the program ended and everything was written
  kernel = 9,       ///< KernelRecord; texts: name, grid, block, compute capability; then metrics and texts of rules
  collective = 10,  ///< CollectiveRecord, before the chunk with its event
};

/// Before each payload. A text is a u32 length and its bytes.
struct ChunkHeader {
  std::uint32_t magic = kChunkMagic;
  ChunkType type = ChunkType::end;
  std::uint16_t reserved = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 (ISO 3309) of the payload
};
static_assert(sizeof(ChunkHeader) == 16);

struct TrackRecord {
  std::uint32_t id = 0;
  std::int32_t device = -1;
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::uint8_t kind = 0;  ///< TrackKind
  std::uint8_t padding[7] = {};
};
static_assert(sizeof(TrackRecord) == 32);

struct ShapeRecord {
  std::uint32_t id = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t graph_id = 0;
  float blocks_per_sm = -1;  ///< this and the next came with version 3; negative if unknown
  float occupancy = -1;
};
static_assert(sizeof(ShapeRecord) == 48);
/// Of a shape before version 3.
inline constexpr std::size_t kOldShapeBytes = 40;

struct EventRecord {
  std::int64_t start_ns = 0;  ///< since the Unix epoch
  std::int64_t duration_ns = 0;
  std::int64_t value = 0;  ///< as in EventColumns
  std::uint32_t name = 0;
  std::uint32_t track = 0;
  std::uint32_t correlation = 0;
  std::uint32_t link = 0;
  std::uint32_t detail = 0;  ///< of kernels the id of their shape; else as in EventColumns
  std::uint8_t kind = 0;     ///< EventKind
  std::uint8_t padding[3] = {};
};
static_assert(sizeof(EventRecord) == 48);

/// What the event said about its collective. Names are ids of names.
struct CollectiveRecord {
  std::uint64_t event = 0;  ///< the how manieth event of the part, from 0
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int64_t sequence = -1;
  std::uint32_t name = 0;
  std::uint32_t data_type = 0;
  std::uint32_t group = 0;
  std::int32_t group_size = 0;
};
static_assert(sizeof(CollectiveRecord) == 48);

struct CounterRecord {
  std::int64_t time_ns = 0;  ///< since the Unix epoch
  double value = 0;
};
static_assert(sizeof(CounterRecord) == 16);

/// What a kernel profiler measured of one launch. Behind its texts stand `metrics` times u32 name id of the metric, u32
/// name id of its unit, f64 value; then `rules` times four texts (name, type, description, kind of speedup) and f64
/// speedup in per cent.
struct KernelRecord {
  std::int64_t id = 0;
  std::int64_t process = 0;
  std::int64_t stream = 0;
  std::int64_t ordinal = 0;
  std::int32_t device = -1;
  std::uint32_t metrics = 0;
  std::uint32_t rules = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(KernelRecord) == 48);

}  // namespace warpmark::profile::recording
