#include "profile/recording/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace warpmark::profile::recording {
namespace {

constexpr std::size_t kEventsPerChunk = 8192;

template <typename T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? 0xEDB88320U : 0U);
    table[i] = rest;
  }
  return table;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto kTable = make_table();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

bool RecordingWriter::open(const char* path) {
  file_ = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    error_ = errno;
    return false;
  }
  chunk(ChunkType::begin, bytes_of(kVersion));
  flush();
  return error_ == 0;
}

void RecordingWriter::metadata(std::string_view key, std::string_view value) {
  std::string payload;
  put_text(payload, key);
  put_text(payload, value);
  chunk(ChunkType::metadata, payload);
}

std::uint32_t RecordingWriter::name(std::string_view text) {
  const auto [found, is_new] = names_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size() + 1));
  if (is_new) {
    std::string payload;
    put(payload, found->second);
    put_text(payload, text);
    chunk(ChunkType::name, payload);
  }
  return found->second;
}

std::uint32_t RecordingWriter::track(TrackRecord track, std::string_view track_name) {
  track.id = 0;
  const auto [found, is_new] =
      tracks_.try_emplace(bytes_of(track).append(track_name), static_cast<std::uint32_t>(tracks_.size() + 1));
  if (is_new) {
    track.id = found->second;
    std::string payload = bytes_of(track);
    put_text(payload, track_name);
    chunk(ChunkType::track, payload);
  }
  return found->second;
}

std::uint32_t RecordingWriter::shape(ShapeRecord shape) {
  shape.id = 0;
  const auto [found, is_new] = shapes_.try_emplace(bytes_of(shape), static_cast<std::uint32_t>(shapes_.size() + 1));
  if (is_new) {
    shape.id = found->second;
    chunk(ChunkType::shape, bytes_of(shape));
  }
  return found->second;
}

void RecordingWriter::event(const EventRecord& event) {
  events_.push_back(event);
  ++events_written_;
  if (events_.size() >= kEventsPerChunk) write_events();
}

void RecordingWriter::counter(std::string_view id, std::string_view unit, std::int32_t device,
                              const CounterRecord& sample) {
  std::string key(id);
  put(key, device);
  auto& series = counters_[key];
  if (series.head.empty()) {
    put(series.head, name(id));
    put(series.head, name(unit));
    put(series.head, device);
    put(series.head, std::uint32_t{0});
  }
  put(series.samples, sample);
}

void RecordingWriter::chunk(ChunkType type, const std::string& payload) {
  ChunkHeader header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.checksum = crc32(payload);
  put(pending_, header);
  pending_ += payload;
}

void RecordingWriter::write_events() {
  if (events_.empty()) return;
  chunk(ChunkType::events, {reinterpret_cast<const char*>(events_.data()), events_.size() * sizeof(EventRecord)});
  events_.clear();
}

void RecordingWriter::write_counters() {
  for (auto& [key, series] : counters_) {
    if (series.samples.empty()) continue;
    chunk(ChunkType::counters, series.head + series.samples);
    series.samples.clear();
  }
}

void RecordingWriter::flush() {
  if (file_ < 0) return;
  write_events();
  write_counters();
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(file_, pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (error_ == 0) error_ = count < 0 ? errno : ENOSPC;
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  pending_.clear();
}

void RecordingWriter::end_part() {
  write_events();
  write_counters();
  chunk(ChunkType::end, {});
  flush();
}

void RecordingWriter::begin_part() {
  names_.clear();
  tracks_.clear();
  shapes_.clear();
  counters_.clear();
  chunk(ChunkType::begin, bytes_of(kVersion));
}

void RecordingWriter::begin_anew() {
  if (file_ < 0) return;
  pending_.clear();
  events_.clear();
  events_written_ = 0;
  if ((::ftruncate(file_, 0) != 0 || ::lseek(file_, 0, SEEK_SET) != 0) && error_ == 0) error_ = errno;
  begin_part();
  flush();
}

void RecordingWriter::finish() {
  if (file_ < 0) return;
  end_part();
  close();
}

void RecordingWriter::close() {
  if (file_ < 0) return;
  flush();
  ::close(file_);
  file_ = -1;
}

}  // namespace warpmark::profile::recording
