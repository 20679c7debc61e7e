#include "optimize/apply/trial_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::optimize {
namespace {

constexpr const char* kJournalSchema = "warpmark.optimize-journal/1";

Error journal_error(const std::string& what, const std::string& path) {
  return environment_error(fmt::format("cannot {} the journal {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

Result<TrialJournal> TrialJournal::open(const std::string& path, const std::string& request, bool fresh) {
  WM_TRY(make_folder(std::filesystem::absolute(path).parent_path()));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (file < 0) return journal_error("open", path);
  TrialJournal journal(path, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    return environment_error("another process optimizes this program: it holds " + path,
                             "wait for it to end, or change --seed to run a second one");
  }
  WM_TRY(journal.read(request, fresh));
  if (journal.header_end_ == 0) {
    journal.lines_.clear();
    if (::ftruncate(file, 0) != 0) return journal_error("empty", path);
    journal.size_ = 0;
    WM_TRY(journal.write_line({{"schema", kJournalSchema}, {"request", request}}));
    journal.header_end_ = journal.size_;
  }
  return journal;
}

TrialJournal::TrialJournal(TrialJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      lines_(std::move(other.lines_)),
      next_(other.next_),
      header_end_(other.header_end_),
      size_(other.size_) {}

TrialJournal::~TrialJournal() {
  if (file_ >= 0) ::close(file_);
}

/// Leaves header_end_ at 0 where the journal must be started anew.
Status TrialJournal::read(const std::string& request, bool fresh) {
  if (fresh) return {};
  WM_ASSIGN(const auto text, read_file(path_));
  const auto whole = text.rfind('\n');
  const std::size_t size = whole == std::string::npos ? 0 : whole + 1;
  if (size < text.size() && ::ftruncate(file_, static_cast<off_t>(size)) != 0) return journal_error("shorten", path_);
  std::size_t begin = 0, header = 0;
  for (std::int64_t number = 1; begin < size; ++number) {
    const auto end = text.find('\n', begin);
    const std::string place = fmt::format("{} line {}", path_, number);
    WM_ASSIGN(auto json, parse_json(std::string_view(text).substr(begin, end - begin), place));
    begin = end + 1;
    if (number == 1) {
      if (!json.is_object() || json.value("schema", "") != kJournalSchema || json.value("request", "") != request)
        return {};
      header = begin;
      continue;
    }
    if (json.contains("complete")) return {};
    if (!json.contains("question") || !json["question"].is_string() || !json.contains("answer")) {
      return data_error(place + ": question or answer is missing", "start anew with --fresh");
    }
    lines_.push_back({json["question"].get<std::string>(), std::move(json["answer"]), begin});
  }
  header_end_ = header;
  size_ = size;
  return {};
}

Result<std::optional<Json>> TrialJournal::recall(const std::string& question) {
  if (next_ >= lines_.size()) return std::optional<Json>{};
  if (lines_[next_].question == question) return std::optional<Json>(lines_[next_++].answer);
  const std::size_t keep = next_ == 0 ? header_end_ : lines_[next_ - 1].end;
  lines_.resize(next_);
  if (::ftruncate(file_, static_cast<off_t>(keep)) != 0) return journal_error("shorten", path_);
  size_ = keep;
  return std::optional<Json>{};
}

Status TrialJournal::append(const std::string& question, const Json& answer) {
  WM_TRY(write_line({{"question", question}, {"answer", answer}}));
  lines_.push_back({question, answer, size_});
  next_ = lines_.size();
  return {};
}

Status TrialJournal::complete() { return write_line({{"complete", true}}); }

Status TrialJournal::write_line(const Json& line) {
  const std::string bytes = dump_json(line, -1) + "\n";
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return journal_error("write", path_);
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(file_) != 0) return journal_error("sync", path_);
  size_ += bytes.size();
  return {};
}

}  // namespace warpmark::optimize
