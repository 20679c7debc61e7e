#include "profile/recording/convert.h"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/files.h"
#include "profile/recording/format.h"
#include "profile/recording/writer.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

using recording::RecordingWriter;

void write_facts(const Timeline& timeline, RecordingWriter& writer) {
  for (const auto& [key, value] : timeline.metadata) {
    if (key != "host" && key != "rank" && key != "world_size") writer.metadata(key, value);
  }
  // What recording costs depends on who recorded.
  if (!timeline.format.empty()) writer.metadata(kRecordedAs, timeline.format);
  if (!timeline.host.empty()) writer.metadata("host", timeline.host);
  if (timeline.rank >= 0) writer.metadata("rank", std::to_string(timeline.rank));
  if (timeline.world_size > 0) writer.metadata("world_size", std::to_string(timeline.world_size));
  for (const auto& gpu : timeline.gpus) {
    writer.metadata("gpu", std::to_string(gpu.index) + '|' + gpu.name + '|' + std::to_string(gpu.memory_bytes) + '|' +
                               std::to_string(gpu.sm_count) + '|' + std::to_string(gpu.compute_major) + '|' +
                               std::to_string(gpu.compute_minor) + '|' + std::to_string(gpu.max_threads_per_sm) +
                               (gpu.uuid.empty() ? "" : '|' + gpu.uuid));
  }
}

void write_quality(const std::vector<DataQualityIssue>& quality, RecordingWriter& writer) {
  for (const auto& issue : quality) {
    const auto [key, value] = metadata_of(issue);
    writer.metadata(key, value);
  }
}

std::uint32_t shape_of(const LaunchShape& shape, RecordingWriter& writer) {
  recording::ShapeRecord record;
  std::memcpy(record.grid, shape.grid, sizeof record.grid);
  std::memcpy(record.block, shape.block, sizeof record.block);
  record.registers_per_thread = shape.registers_per_thread;
  record.shared_bytes = shape.shared_bytes;
  record.graph_id = shape.graph_id;
  record.blocks_per_sm = shape.blocks_per_sm;
  record.occupancy = shape.occupancy;
  return writer.shape(record);
}

void write_events(const Timeline& timeline, RecordingWriter& writer) {
  std::vector<std::uint32_t> names, tracks, shapes;
  for (std::size_t i = 0; i < timeline.names.size(); ++i) {
    names.push_back(writer.name(timeline.names.at(static_cast<NameId>(i))));
  }
  for (const auto& track : timeline.tracks) {
    recording::TrackRecord record;
    record.device = track.device;
    record.process = track.process;
    record.thread = track.thread;
    record.kind = static_cast<std::uint8_t>(track.kind);
    tracks.push_back(writer.track(record, track.name));
  }
  for (const auto& shape : timeline.launch_shapes) shapes.push_back(shape_of(shape, writer));
  for (const auto& collective : timeline.collectives) {
    const recording::CollectiveRecord record{.event = collective.event,
                                             .in_elements = collective.in_elements,
                                             .out_elements = collective.out_elements,
                                             .sequence = collective.sequence,
                                             .name = names[collective.name],
                                             .data_type = names[collective.data_type],
                                             .group = names[collective.group],
                                             .group_size = collective.group_size};
    writer.add_chunk(recording::ChunkType::collective, {reinterpret_cast<const char*>(&record), sizeof record});
  }
  const auto& events = timeline.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    recording::EventRecord record;
    record.start_ns = timeline.origin_ns + events.start[i];
    record.duration_ns = events.duration[i];
    record.value = events.value[i];
    record.name = names[events.name[i]];
    record.track = tracks[events.track[i]];
    record.correlation = events.correlation[i];
    record.link = events.link[i];
    record.kind = static_cast<std::uint8_t>(events.kind[i]);
    record.detail = events.detail[i];
    if (events.kind[i] == EventKind::kernel) record.detail = shapes[events.detail[i]];
    if (events.kind[i] == EventKind::op) record.detail = names[events.detail[i]];
    writer.event(record);
  }
}

void write_counters(const std::vector<CounterSeries>& counters, std::int64_t origin_ns, RecordingWriter& writer) {
  std::map<int, std::set<std::string>> sampled;
  for (const auto& series : counters) {
    sampled[series.device].insert(series.gpu);
  }
  for (const auto& [device, gpus] : sampled) {  // several hosts may have sampled GPUs of one number
    if (gpus.size() == 1 && !gpus.begin()->empty())
      writer.metadata(recording::kSampledGpu, std::to_string(device) + '|' + *gpus.begin());
  }
  for (const auto& series : counters) {
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      writer.counter(series.id, series.unit, series.device, {origin_ns + series.times[i], series.values[i]});
    }
  }
}

template <typename T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, const std::string& text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

void write_kernel(const KernelProfile& kernel, RecordingWriter& writer) {
  std::string payload;
  put(payload, recording::KernelRecord{.id = kernel.id,
                                       .process = kernel.process,
                                       .stream = kernel.stream,
                                       .ordinal = kernel.ordinal,
                                       .device = kernel.device,
                                       .metrics = static_cast<std::uint32_t>(kernel.metrics.size()),
                                       .rules = static_cast<std::uint32_t>(kernel.rules.size()),
                                       .reserved = 0});
  for (const auto* text : {&kernel.name, &kernel.grid, &kernel.block, &kernel.compute_capability}) {
    put_text(payload, *text);
  }
  for (std::size_t i = 0; i < kernel.metrics.size(); ++i) {
    const KernelMetric metric = kernel.metrics[i];
    put(payload, writer.name(metric.id));
    put(payload, writer.name(metric.unit));
    put(payload, metric.value);
  }
  for (const auto& rule : kernel.rules) {
    for (const auto* text : {&rule.name, &rule.type, &rule.description, &rule.speedup_type}) put_text(payload, *text);
    put(payload, rule.speedup_percent);
  }
  writer.add_chunk(recording::ChunkType::kernel, payload);
}

/// One part a rank, each in a file of its own that is then joined to the first.
void write_parts(const ProfileSession& session, RecordingWriter& writer) {
  bool first = true;
  for (const auto& timeline : session.ranks) {
    if (!first) writer.begin_part();
    if (first) write_quality(session.quality, writer);
    first = false;
    write_facts(timeline, writer);
    write_quality(timeline.quality, writer);
    write_events(timeline, writer);
    write_counters(timeline.counters, timeline.origin_ns, writer);
    writer.end_part();
  }
  if (!session.counters.empty() || !session.kernels.empty()) {
    if (!first) writer.begin_part();
    if (first) write_quality(session.quality, writer);
    write_counters(session.counters, 0, writer);
    for (const auto& kernel : session.kernels) write_kernel(kernel, writer);
    writer.end_part();
  }
}

Status write(const ProfileSession& session, const std::filesystem::path& path) {
  if (!session.collectives.empty()) {
    return data_error("a recording holds timelines, counters and kernel metrics, not collective results",
                      "convert to sqlite, which holds all");
  }
  const std::filesystem::path half = temporary_for(path);
  RecordingWriter writer;
  if (writer.open(half.c_str())) {
    write_parts(session, writer);
    writer.close();
  }
  if (writer.error() == 0) return put_in_place(half, path);
  std::error_code ignored;
  std::filesystem::remove(half, ignored);
  return write_error(path, writer.error());
}

}  // namespace

Status add_kernels(const ProfileSession& session, const std::filesystem::path& recording) {
  const std::filesystem::path part = recording.string() + ".kernels";
  RecordingWriter writer;
  if (!writer.open(part.c_str())) return write_error(recording, writer.error());
  for (const auto& kernel : session.kernels) write_kernel(kernel, writer);
  writer.finish();
  const Status added =
      writer.error() != 0 ? Status(write_error(recording, writer.error())) : recording::append_part(part, recording);
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return added;
}

const Writer kRecordingFormat = {"warpmark", "warpmark's own recording: small and fast to read", "wmrec", write};

}  // namespace warpmark::profile

namespace warpmark::profile::recording {
namespace {

namespace fs = std::filesystem;

constexpr int kLevel = 1;  // a third of the size already, at hundreds of MB/s

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error failed(const char* what, const fs::path& path) {
  return environment_error(std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno),
                           "is there room, and may you write there?");
}

class PackedFile {
 public:
  /// `mode` as fopen takes it: what is appended is a frame of its own.
  Status open(const fs::path& path, const char* mode) {
    path_ = path;
    file_.reset(std::fopen(path.c_str(), mode));
    if (!file_) return failed("write", path);
    (void)ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    (void)ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    packed_.resize(ZSTD_CStreamOutSize());
    return {};
  }
  Status write(std::string_view bytes, bool last = false) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    while (left != 0) {
      ZSTD_outBuffer output{packed_.data(), packed_.size(), 0};
      const std::size_t code =
          ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(code) != 0U) return internal_error(std::string("zstandard: ") + ZSTD_getErrorName(code));
      if (std::fwrite(packed_.data(), 1, output.pos, file_.get()) != output.pos) return failed("write", path_);
      left = last ? code : input.size - input.pos;
    }
    return {};
  }
  Status finish() {
    WM_TRY(write({}, true));
    return std::fclose(file_.release()) == 0 ? Status() : failed("write", path_);
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  fs::path path_;
  File file_;
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
  std::string packed_;
};

/// The next chunk with its header, or nothing where the whole ones end.
std::string_view next_chunk(std::FILE* file, std::string& storage) {
  ChunkHeader header;
  if (std::fread(&header, sizeof header, 1, file) != 1) return {};
  if (header.magic != kChunkMagic || header.payload_bytes > kMaxPayload) return {};
  storage.resize(sizeof header + header.payload_bytes);
  std::memcpy(storage.data(), &header, sizeof header);
  const std::size_t got = std::fread(storage.data() + sizeof header, 1, header.payload_bytes, file);
  const auto payload = std::string_view(storage).substr(sizeof header);
  if (got != header.payload_bytes || crc32(payload) != header.checksum) return {};
  return storage;
}

/// Writes the whole chunks of the parts into `half`, which then becomes `to`.
Status write_parts(std::span<const fs::path> parts, const fs::path& half, const char* mode, const fs::path& to) {
  PackedFile joined;
  WM_TRY(joined.open(half, mode));
  std::string storage;
  for (const auto& part : parts) {
    const File file(std::fopen(part.c_str(), "rb"));
    if (!file) return failed("read", part);
    for (auto chunk = next_chunk(file.get(), storage); !chunk.empty(); chunk = next_chunk(file.get(), storage)) {
      WM_TRY(joined.write(chunk));
    }
  }
  WM_TRY(joined.finish());
  return put_in_place(half, to);
}

}  // namespace

Status join_parts(std::span<const fs::path> parts, const fs::path& to) {
  const fs::path half = temporary_for(to);
  const Status written = write_parts(parts, half, "wb", to);
  std::error_code ignored;
  if (!written.ok()) fs::remove(half, ignored);
  return written;
}

Status append_part(const fs::path& part, const fs::path& to) {
  const fs::path half = temporary_for(to);
  std::error_code failure;
  fs::copy_file(to, half, fs::copy_options::overwrite_existing, failure);
  if (failure) return environment_error("cannot write " + half.string() + ": " + failure.message());
  const Status written = write_parts({&part, 1}, half, "ab", to);
  if (!written.ok()) fs::remove(half, failure);
  return written;
}

}  // namespace warpmark::profile::recording
