#include "validate/compare/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/json/json.h"

namespace warpmark::validate {
namespace {

constexpr const char* kSchema = "warpmark.compare-journal/1";

Error file_error(const std::string& what, const std::string& path) {
  return environment_error(fmt::format("cannot {} the journal {}: {}", what, path, std::strerror(errno)));
}

/// Empty if the line has no such text.
std::string text_of(const Json& line, const char* key) {
  const auto found = line.is_object() ? line.find(key) : line.end();
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

Result<AbSample> sample_of(const Json& line) {
  if (!line.contains("arm") || !line["arm"].is_number_integer() || !line.contains("round") ||
      !line["round"].is_number_integer() || !line.contains("ends_round") || !line["ends_round"].is_boolean() ||
      !line.contains("run")) {
    return data_error("arm, round, ends_round or run is missing");
  }
  AbSample sample;
  sample.slot = {line["arm"].get<int>(), line["round"].get<std::int64_t>(), line["ends_round"].get<bool>()};
  WM_ASSIGN(sample.run, run_from_json(line["run"]));
  return sample;
}

}  // namespace

Result<Journal> Journal::open(const std::string& path, const std::string& request, const std::string& id, bool fresh) {
  std::error_code failure;
  const auto folder = std::filesystem::absolute(path).parent_path();
  std::filesystem::create_directories(folder, failure);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (file < 0) return file_error("open", path);
  Journal journal(path, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    return environment_error("another process runs this comparison: it holds " + path,
                             "wait for it to end, or change --seed to run a second one");
  }
  WM_TRY(journal.read(request, fresh));
  if (journal.id_.empty()) {
    journal.samples_.clear();
    journal.pieces_.clear();
    journal.count_ = 0;
    if (::ftruncate(file, 0) != 0) return file_error("empty", path);
    journal.id_ = id;
    WM_TRY(journal.write_line(dump_json(Json{{"schema", kSchema}, {"id", id}, {"request", request}}, -1)));
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      id_(std::move(other.id_)),
      samples_(std::move(other.samples_)),
      count_(other.count_),
      pieces_(std::move(other.pieces_)) {}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

/// Leaves id_ empty where the journal must be started anew.
Status Journal::read(const std::string& request, bool fresh) {
  if (fresh) return {};
  WM_ASSIGN(const auto text, read_file(path_));
  const auto whole = text.rfind('\n');
  const std::size_t size = whole == std::string::npos ? 0 : whole + 1;
  if (size < text.size() && ::ftruncate(file_, static_cast<off_t>(size)) != 0) return file_error("shorten", path_);
  std::int64_t number = 0;
  std::string id;
  for (const auto& line : split(std::string_view(text).substr(0, size), '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{} line {}", path_, number);
    WM_ASSIGN(const auto json, parse_json(line, place));
    if (number == 1) {
      if (text_of(json, "schema") != kSchema || text_of(json, "request") != request) return {};
      id = text_of(json, "id");
      continue;
    }
    if (json.contains("complete")) return {};
    if (json.contains("piece")) {
      pieces_.push_back(samples_.size());
      continue;
    }
    auto sample = sample_of(json);
    if (!sample.ok()) return data_error(place + ": " + sample.error().what, "start anew with --fresh");
    samples_.push_back(std::move(*sample));
  }
  count_ = samples_.size();
  id_ = id;
  return {};
}

Status Journal::append(const AbSample& sample) {
  WM_TRY(write_line(dump_json(Json{{"arm", sample.slot.arm},
                                   {"round", sample.slot.round},
                                   {"ends_round", sample.slot.ends_round},
                                   {"run", to_json(sample.run)}},
                              -1)));
  ++count_;
  return {};
}

Status Journal::end_piece() {
  if (count_ == (pieces_.empty() ? 0 : pieces_.back())) return {};
  WM_TRY(write_line(dump_json(Json{{"piece", count_}}, -1)));
  pieces_.push_back(count_);
  return {};
}

Status Journal::complete() { return write_line(R"({"complete":true})"); }

Status Journal::write_line(const std::string& line) {
  const std::string bytes = line + "\n";
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return file_error("write", path_);
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(file_) != 0) return file_error("sync", path_);
  return {};
}

}  // namespace warpmark::validate
