#include "serving/records/record_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/untrusted/input.h"
#include "stats/random.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kBlockTime_ns = 1'000'000'000;  ///< so much may be lost where the program is killed
/// A disk that is so far behind does not catch up, and memory is not what it is for.
constexpr std::size_t kMostWaiting = 256 << 20;

Error cannot_keep(const std::filesystem::path& place, int code) {
  return environment_error("cannot keep the records of requests in " + place.string() + ": " + std::strerror(code));
}

Result<RecordFile> open_named(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return cannot_keep(file, errno);
  return RecordFile(fd, file, file);
}

/// Its name is gone at once, and with the program the file, however it ends.
Result<RecordFile> open_nameless() {
  WM_ASSIGN(const ScratchFolder folder, ScratchFolder::make("load"));
  const auto file = folder.path() / "records";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return cannot_keep(file, errno);
  return RecordFile(fd, {}, folder.path().parent_path());
}

}  // namespace

Result<std::unique_ptr<RecordSpool>> RecordSpool::open(const std::filesystem::path& file) {
  WM_ASSIGN(RecordFile opened, file.empty() ? open_nameless() : open_named(file));
  return std::unique_ptr<RecordSpool>(new RecordSpool(std::move(opened)));
}

RecordSpool::RecordSpool(RecordFile file) : file_(std::move(file)) {
  writer_ = std::thread([this] { write_blocks(); });
}

RecordSpool::~RecordSpool() { end(); }

void RecordSpool::take(std::string block) {
  const std::lock_guard lock(lock_);
  waiting_ += block.size();
  blocks_.push_back(std::move(block));
  if (waiting_ > kMostWaiting && problem_.empty())
    fail("the records of requests come faster than " + file_.shown().string() + " takes them");
  wake_.notify_one();
}

std::string RecordSpool::problem() const {
  const std::lock_guard lock(lock_);
  return problem_;
}

void RecordSpool::write_blocks() {
  std::unique_lock lock(lock_);
  for (;;) {
    wake_.wait_for(lock, std::chrono::seconds(10), [this] { return ended_ || !blocks_.empty(); });
    if (blocks_.empty() && ended_) return;
    if (blocks_.empty()) continue;
    std::string block = std::move(blocks_.front());
    blocks_.pop_front();
    lock.unlock();
    const int failure = write(block);
    lock.lock();
    if (failure != 0) {
      blocks_.push_front(std::move(block));
      return fail(cannot_keep(file_.shown(), failure).what);
    }
    written_ += static_cast<std::int64_t>(block.size());
    waiting_ -= block.size();
  }
}

int RecordSpool::write(std::string_view block) {
  for (std::int64_t at = written_; !block.empty();) {
    const ssize_t done = ::pwrite(file_.fd(), block.data(), block.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    block.remove_prefix(static_cast<std::size_t>(done));
    at += done;
  }
  return 0;
}

void RecordSpool::fail(std::string why) {
  if (problem_.empty()) problem_ = std::move(why);
  failed_.store(true, std::memory_order_relaxed);
}

void RecordSpool::end() {
  {
    const std::lock_guard lock(lock_);
    ended_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
}

Result<RequestRecords> RecordSpool::finish(std::int64_t gaps_of_one_in) {
  end();
  return RequestRecords::of(std::move(file_), written_, std::move(blocks_), gaps_of_one_in);
}

void RecordWriter::add(const RequestRecord& record) {
  if (block_.empty()) began_ns_ = record.ended_ns;
  block_.add(record);
  if (block_.size() >= kUsualBlockBytes || record.ended_ns - began_ns_ >= kBlockTime_ns) flush();
}

void RecordWriter::flush() {
  if (!block_.empty()) spool_->take(block_.take());
}

KeptRecords::KeptRecords(RecordSpool& spool, std::int64_t most_gaps, std::string secret)
    : writer_(spool), secret_(std::move(secret)), most_gaps_(most_gaps) {}

void KeptRecords::add(RequestRecord record) {
  record.message = hide_secret(std::move(record.message), secret_);
  const int largest = std::min(std::countr_zero(stats::random_bits(count_++, 0)), kSamples - 1);
  record.sample = static_cast<std::uint8_t>(largest);
  if (largest < sample_) {
    record.gaps_s.clear();
    record.gap_tokens.clear();
  } else {
    const auto gaps = static_cast<std::int64_t>(record.gaps_s.size());
    gaps_[static_cast<std::size_t>(largest)] += gaps;
    in_sample_ += gaps;
  }
  writer_.add(record);
  if (most_gaps_ > 0 && in_sample_ > most_gaps_ && sample_ < kSamples - 1) {
    in_sample_ -= gaps_[static_cast<std::size_t>(sample_++)];
  }
}

}  // namespace warpmark::serving
