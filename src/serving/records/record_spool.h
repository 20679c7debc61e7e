// Where the finished requests of a load go while it runs: into a file, so that the memory of a long load does not grow
// with them. Records are gathered in blocks, which a thread of its own writes: who measures never waits for a disk.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "serving/answers/record.h"
#include "serving/records/record_bytes.h"
#include "serving/records/request_records.h"

namespace warpmark::serving {

class RecordSpool {
 public:
  /// Into `file`, which outlives a program that is killed; where it is empty, into one without a name in the folder for
  /// temporary files. Environment error where it cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<RecordSpool>> open(const std::filesystem::path& file);
  ~RecordSpool();
  RecordSpool(const RecordSpool&) = delete;
  RecordSpool& operator=(const RecordSpool&) = delete;

  /// A whole block (record_bytes.h). Any thread.
  void take(std::string block);
  /// The file takes no more, as of a full disk. What is given to it then stays in memory, so that nothing that was
  /// measured is lost: no more should be measured. Any thread.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// Why; empty where it did not fail.
  [[nodiscard]] std::string problem() const;
  /// All records, when nothing more comes. Of gaps those of a sample of one in so many requests. Data error where the
  /// file does not hold what was written.
  [[nodiscard]] Result<RequestRecords> finish(std::int64_t gaps_of_one_in);

 private:
  explicit RecordSpool(RecordFile file);
  void write_blocks();
  /// The number of the error, or 0.
  [[nodiscard]] int write(std::string_view block);
  void fail(std::string why);  ///< under the lock
  void end();

  RecordFile file_;
  std::int64_t written_ = 0;  ///< bytes of whole blocks
  mutable std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::string> blocks_;  ///< that are still to be written
  std::size_t waiting_ = 0;         ///< bytes of them
  std::string problem_;
  std::atomic<bool> failed_{false};
  bool ended_ = false;
  std::thread writer_;
};

/// Gathers the records of one thread in blocks.
class RecordWriter {
 public:
  explicit RecordWriter(RecordSpool& spool) : spool_(&spool) {}
  void add(const RequestRecord& record);
  /// Hands over what there is.
  void flush();

 private:
  RecordSpool* spool_;
  RecordBlock block_;
  std::int64_t began_ns_ = 0;  ///< when the first of its records ended
};

class KeptRecords {
 public:
  /// So many gaps are kept, and those before one in two is left out; 0 without limit. `secret` is removed from
  /// messages.
  KeptRecords(RecordSpool& spool, std::int64_t most_gaps, std::string secret);

  void add(RequestRecord record);
  /// Hands over what there is. No more comes.
  void end() { writer_.flush(); }
  /// Gaps are there of one in so many requests, a power of two; of others, which came earlier, to be passed over
  /// (RecordSpool::finish). Which ones is drawn by their number, whatever they were: a data set that comes around again
  /// does not beat with it.
  [[nodiscard]] std::int64_t one_in() const { return std::int64_t{1} << sample_; }

 private:
  static constexpr int kSamples = 40;

  RecordWriter writer_;
  std::string secret_;
  std::int64_t most_gaps_ = 0;
  int sample_ = 0;                             ///< gaps are kept of one in 2^sample_ requests
  std::array<std::int64_t, kSamples> gaps_{};  ///< by the largest sample that their request is in
  std::int64_t in_sample_ = 0;                 ///< sum of those from sample_ on
  std::uint64_t count_ = 0;
};

}  // namespace warpmark::serving
