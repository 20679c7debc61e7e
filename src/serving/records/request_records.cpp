#include "serving/records/request_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/files.h"
#include "serving/records/record_bytes.h"

namespace warpmark::serving {

RecordFile::RecordFile(int fd, std::filesystem::path named, std::filesystem::path shown)
    : fd_(fd), named_(std::move(named)), shown_(std::move(shown)) {}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      named_(std::exchange(other.named_, {})),
      shown_(std::exchange(other.shown_, {})) {}

RecordFile& RecordFile::operator=(RecordFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(named_, other.named_);
  std::swap(shown_, other.shown_);
  return *this;
}

RecordFile::~RecordFile() {
  struct stat facts {};
  if (fd_ >= 0 && ::fstat(fd_, &facts) == 0 && facts.st_size == 0) remove_name();
  if (fd_ >= 0) ::close(fd_);
}

void RecordFile::remove_name() {
  struct stat facts {};
  // A device that was named stays.
  if (!named_.empty() && ::fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode)) ::unlink(named_.c_str());
  named_.clear();
}

int RecordFile::read(std::int64_t offset, std::size_t length, std::string& bytes) const {
  bytes.resize(length);
  for (std::size_t done = 0; done < length;) {
    const ssize_t got = ::pread(fd_, bytes.data() + done, length - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

struct RequestRecords::Stored {
  /// Of the file or, where it could not be written, in memory.
  struct Block {
    std::int64_t offset = 0;
    std::uint32_t bytes = 0;
    std::string memory;  ///< with its head
  };
  struct Place {
    std::uint32_t block = 0;
    std::uint32_t offset = 0;  ///< in its records
  };

  RecordFile file;
  std::vector<Block> blocks;
  std::vector<Place> order;  ///< by when they were due
  int sample = 0;            ///< gaps are those of one in 2^sample requests
  std::atomic<int> error{0};

  /// The records of a block: of one in memory these, else read into `buffer`; empty where that fails.
  [[nodiscard]] std::string_view read(const Block& block, std::string& buffer) {
    if (!block.memory.empty()) return std::string_view(block.memory).substr(kBlockHeadBytes);
    const int failure = file.read(block.offset, block.bytes, buffer);
    if (failure == 0) return buffer;
    error.store(failure);
    return {};
  }
  /// Those that are whole in the first `length` bytes of the file; where they end. Environment error if it is not read.
  [[nodiscard]] Result<std::int64_t> find_blocks(std::int64_t length);
  [[nodiscard]] Status put_in_order();
};

Result<std::int64_t> RequestRecords::Stored::find_blocks(std::int64_t length) {
  constexpr auto kHead = static_cast<std::int64_t>(kBlockHeadBytes);
  std::string head;
  std::int64_t at = 0;
  while (at + kHead <= length) {
    if (const int failure = file.read(at, kBlockHeadBytes, head); failure != 0) {
      return read_error(file.shown(), failure);
    }
    const auto found = read_block_head(head);
    if (!found || at + kHead + found->bytes > length) break;
    blocks.push_back({.offset = at + kHead, .bytes = found->bytes, .memory = {}});
    at += kHead + found->bytes;
  }
  return at;
}

Status RequestRecords::Stored::put_in_order() {
  struct Due {
    std::int64_t intended_ns = 0;
    Place place;
  };
  std::vector<Due> dues;
  std::string buffer;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string_view records = read(blocks[i], buffer);
    if (records.empty() && blocks[i].bytes > 0) return read_error(file.shown(), error.load());
    for (std::size_t at = 0; at < records.size();) {
      Due due{.place = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(at)}};
      const std::size_t length = read_due(records.substr(at), due.intended_ns);
      if (length == 0) return data_error("the records of a load are damaged");
      dues.push_back(due);
      at += length;
    }
  }
  std::stable_sort(dues.begin(), dues.end(), [](const Due& a, const Due& b) { return a.intended_ns < b.intended_ns; });
  order.reserve(dues.size());
  for (const Due& due : dues) order.push_back(due.place);
  return {};
}

Result<RequestRecords> RequestRecords::of(RecordFile file, std::int64_t length, std::deque<std::string> blocks,
                                          std::int64_t gaps_of_one_in) {
  auto stored = std::make_shared<Stored>();
  stored->file = std::move(file);
  stored->sample =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(gaps_of_one_in, 1)))) - 1;
  WM_ASSIGN(const auto whole, stored->find_blocks(length));
  if (whole != length) return data_error("the records of a load are damaged");
  for (auto& block : blocks) {
    const auto bytes = static_cast<std::uint32_t>(block.size() - kBlockHeadBytes);
    stored->blocks.push_back({.bytes = bytes, .memory = std::move(block)});
  }
  WM_TRY(stored->put_in_order());
  RequestRecords records;
  records.stored_ = std::move(stored);
  return records;
}

Result<RequestRecords> RequestRecords::of_unfinished(const std::filesystem::path& path) {
  RecordFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), {}, path);
  if (file.fd() < 0) return read_error(path, errno);
  struct stat facts {};
  if (::fstat(file.fd(), &facts) != 0) return read_error(path, errno);
  auto stored = std::make_shared<Stored>();
  stored->file = std::move(file);
  WM_TRY(stored->find_blocks(facts.st_size));
  WM_TRY(stored->put_in_order());
  RequestRecords records;
  records.stored_ = std::move(stored);
  return records;
}

std::size_t RequestRecords::size() const { return stored_ == nullptr ? 0 : stored_->order.size(); }

RequestRecords::Iterator RequestRecords::begin() const { return Iterator(stored_); }

Status RequestRecords::status() const {
  const int failure = stored_ == nullptr ? 0 : stored_->error.load();
  if (failure == 0) return {};
  return read_error(stored_->file.shown(), failure);
}

void RequestRecords::remove_name() {
  if (stored_ != nullptr) stored_->file.remove_name();
}

/// Requests that are due one after another ended at about the same time: the blocks that they are in are held for a
/// while.
struct RequestRecords::Iterator::Cursor {
  struct Held {
    std::size_t block = SIZE_MAX;
    std::string buffer;
    std::string_view records;
  };

  explicit Cursor(std::shared_ptr<Stored> from) : stored(std::move(from)) { read(); }

  void read() {
    if (at >= stored->order.size()) return;
    const Stored::Place place = stored->order[at];
    Held& here = held[place.block % held.size()];
    if (here.block != place.block) {
      here.records = stored->read(stored->blocks[place.block], here.buffer);
      here.block = place.block;
    }
    if (place.offset >= here.records.size() || read_record(here.records.substr(place.offset), record) == 0) {
      if (stored->error.load() == 0) stored->error.store(EIO);
      at = stored->order.size();
      return;
    }
    if (record.sample < stored->sample) record.gaps_s.clear(), record.gap_tokens.clear();
  }

  std::shared_ptr<Stored> stored;
  std::array<Held, 64> held;
  RequestRecord record;
  std::size_t at = 0;
};

RequestRecords::Iterator::Iterator(std::shared_ptr<Stored> stored) {
  if (stored != nullptr) cursor_ = std::make_shared<Cursor>(std::move(stored));
}

RequestRecords::Iterator::reference RequestRecords::Iterator::operator*() const { return cursor_->record; }

RequestRecords::Iterator& RequestRecords::Iterator::operator++() {
  ++cursor_->at;
  cursor_->read();
  return *this;
}

bool RequestRecords::Iterator::operator==(std::default_sentinel_t) const {
  return cursor_ == nullptr || cursor_->at >= cursor_->stored->order.size();
}

}  // namespace warpmark::serving
