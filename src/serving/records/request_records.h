// The requests of a load, by when they were due. They lie in a file and are read as often as they are asked for; in
// memory is where each begins, eight bytes a request. Copies share them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "base/result.h"
#include "serving/answers/record.h"

namespace warpmark::serving {

/// An open file of records: without a name, or with one that stays until it is removed, so that records which could not
/// be told are found again; an empty file goes with the object.
class RecordFile {
 public:
  RecordFile() = default;
  RecordFile(int fd, std::filesystem::path named, std::filesystem::path shown);
  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&& other) noexcept;
  ~RecordFile();
  [[nodiscard]] int fd() const { return fd_; }
  /// For people: the file, or the folder that it is in.
  [[nodiscard]] const std::filesystem::path& shown() const { return shown_; }
  /// Whole blocks are read at `offset`, or nothing; the number of the error, EIO where the file is shorter.
  [[nodiscard]] int read(std::int64_t offset, std::size_t length, std::string& bytes) const;
  void remove_name();

 private:
  int fd_ = -1;
  std::filesystem::path named_, shown_;
};

class RequestRecords {
 public:
  class Iterator;

  RequestRecords() = default;
  /// The blocks in the file's first `length` bytes, then those in memory. Gaps as RecordSpool::finish(). Data error for
  /// bytes that are no records.
  [[nodiscard]] static Result<RequestRecords> of(RecordFile file, std::int64_t length, std::deque<std::string> blocks,
                                                 std::int64_t gaps_of_one_in);
  /// What a program that was killed left of its file: as many blocks as are whole.
  [[nodiscard]] static Result<RequestRecords> of_unfinished(const std::filesystem::path& file);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Reading ends early where the file cannot be read: ask status() afterwards.
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }
  /// Environment error if reading has failed once.
  [[nodiscard]] Status status() const;
  /// The file loses its name, as what it holds is kept elsewhere now; it can be read all the same.
  void remove_name();

 private:
  struct Stored;
  std::shared_ptr<Stored> stored_;
};

/// Once through all of them; a copy goes on with the same.
class RequestRecords::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = RequestRecord;
  using difference_type = std::ptrdiff_t;
  using pointer = const RequestRecord*;
  using reference = const RequestRecord&;

  Iterator() = default;
  explicit Iterator(std::shared_ptr<Stored> stored);
  [[nodiscard]] reference operator*() const;
  [[nodiscard]] pointer operator->() const { return &**this; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  [[nodiscard]] bool operator==(std::default_sentinel_t) const;

 private:
  struct Cursor;
  std::shared_ptr<Cursor> cursor_;
};

}  // namespace warpmark::serving
