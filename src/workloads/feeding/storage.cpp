// storage: reading a file as a loader does, by threads that each read blocks at their own places, sequentially or at
// random, through the page cache or past it (O_DIRECT), from a cold or a warm cache. What is read is checked.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "measure/round.h"
#include "workloads/feeding/passes.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kAlignment = 4096;  // of O_DIRECT: blocks, places and memory
constexpr std::size_t kWriteBlock = 1 << 20;

constexpr ParamSpec kStorageParams[] = {
    {"size", ParamKind::bytes, "256MiB", "bytes of the file, all of which are read"},
    {"block", ParamKind::bytes, "1MiB", "bytes of one read"},
    {"threads", ParamKind::integer, "4", "threads that read, each its own part of the blocks"},
    {"order", ParamKind::text, "sequential", "places of the reads", "sequential|random"},
    {"access", ParamKind::text, "buffered", "through the page cache, or past it", "buffered|direct"},
    {"cache", ParamKind::text, "cold", "whether the page cache is emptied of the file before each pass", "cold|warm"},
    {"need", ParamKind::bytes, "0", "bytes a second that a step needs, for the ratio to it; 0 is no step"},
    {"folder", ParamKind::path, "", "where the file is made; empty is the folder for temporary files"},
};

Result<Cost> storage_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, kAlignment, {"size", "block"}));
  WM_TRY(require_at_least(params, 1, {"threads"}));
  const auto size = params.integer("size"), block = params.integer("block");
  if (size % block != 0 || block % kAlignment != 0) {
    return usage_error(fmt::format("size is {} bytes in blocks of {}", size, block),
                       fmt::format("blocks are multiples of {} bytes, and the size is one of blocks", kAlignment));
  }
  if (params.integer("threads") > 1024 || block > (std::int64_t{1} << 30)) {
    return usage_error("threads are up to 1024 and blocks up to 1 GiB");
  }
  return Cost{.flops = 0,
              .bytes = static_cast<double>(size),
              .footprint_bytes = size,
              .flop_type = "",
              .link = "storage",
              .rate = "bandwidth"};
}

device::Support supports_storage(const measure::Workload& /*self*/, const DeviceInfo& device, const Params& params) {
  if (device.backend != "cpu") return device::Support::no("files are read by processors", "--device cpu");
  if (params.text("access") == "direct" && params.text("cache") == "warm") {
    return device::Support::no("reads past the page cache do not find it warm", "--set cache=cold");
  }
  return device::Support::yes();
}

std::vector<Overrides> storage_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend != "cpu") return {};
  return {{{"size", "64MiB"}, {"cache", "warm"}}, {{"size", "64MiB"}, {"order", "random"}, {"block", "64KiB"}}};
}

/// Every eight bytes of the file tell their own place.
std::uint64_t word_at(std::uint64_t place) { return (place + 1) * 0x9E3779B97F4A7C15ULL; }

struct FreeBlock {
  void operator()(std::byte* block) const { std::free(block); }
};
using BlockMemory = std::unique_ptr<std::byte, FreeBlock>;

/// A file of known content, which has no name any more once it is open: nothing of it outlives the program.
class KnownFile {
 public:
  KnownFile() = default;
  KnownFile(const KnownFile&) = delete;
  KnownFile& operator=(const KnownFile&) = delete;
  ~KnownFile() {
    if (file_ >= 0) ::close(file_);
  }

  Status make(const fs::path& folder, std::int64_t size, bool direct) {
    std::string name = (folder / "warpmark-storage-XXXXXX").string();
    const int writer = ::mkstemp(name.data());
    if (writer < 0) return failed("cannot make a file in " + folder.string());
    file_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    const int code = file_ < 0 ? errno : 0;
    ::unlink(name.c_str());
    const Status filled = code == 0 ? fill(writer, size) : Status();
    ::close(writer);
    if (code == 0) return filled;
    errno = code;
    if (code != EINVAL) return failed("cannot read " + name);
    return unsupported_error("the file system of " + folder.string() + " has no direct reads",
                             "--set access=buffered, or --set folder= on another file system");
  }

  /// The page cache forgets the file.
  [[nodiscard]] Status forget() const {
    const int code = ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
    if (code == 0) return {};
    return environment_error(fmt::format("cannot empty the page cache of the file: {}", std::strerror(code)));
  }
  [[nodiscard]] int descriptor() const { return file_; }

 private:
  static Status failed(const std::string& what) {
    return environment_error(what + ": " + std::strerror(errno), "--set folder= names another place");
  }
  /// And puts it on the disk: only what is there leaves the page cache.
  static Status fill(int file, std::int64_t size) {
    std::vector<std::uint64_t> words(kWriteBlock / sizeof(std::uint64_t));
    for (std::int64_t done = 0; done < size;) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = word_at(static_cast<std::uint64_t>(done) / sizeof(std::uint64_t) + i);
      }
      const auto wanted = std::min<std::size_t>(kWriteBlock, static_cast<std::size_t>(size - done));
      const ssize_t now = ::write(file, words.data(), wanted);
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0 || now % 8 != 0) return failed("the file cannot be written to its end");
      done += now;
    }
    if (::fsync(file) != 0) return failed("the file cannot be put on the disk");
    return {};
  }
  int file_ = -1;
};

class Reader {
 public:
  Reader(const KnownFile& file, const Params& params, std::uint64_t seed)
      : file_(file),
        block_(static_cast<std::size_t>(params.integer("block"))),
        threads_(static_cast<std::size_t>(params.integer("threads"))),
        order_(static_cast<std::size_t>(params.integer("size") / params.integer("block"))) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (params.text("order") == "random") std::shuffle(order_.begin(), order_.end(), std::mt19937_64(seed));
  }

  /// Every block once. Each thread has its own memory, whose last block is checked when all have ended.
  Status pass(double& seconds) {
    if (memory_.empty()) {
      for (std::size_t i = 0; i < threads_; ++i) {
        memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kAlignment, block_)));
        if (memory_.back() == nullptr)
          return with_code(environment_error("not enough memory for the blocks", "--set block lower"),
                           ErrorCode::out_of_memory);
      }
    }
    std::atomic<int> fault = 0;
    std::vector<std::size_t> last(threads_, order_.size());
    const std::int64_t begin = monotonic_ns();
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads_; ++t) all.emplace_back([&, t] { part(t, last[t], fault); });
    for (auto& thread : all) thread.join();
    seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (fault != 0) return environment_error(fmt::format("a read of the file failed: {}", std::strerror(fault)));
    for (std::size_t t = 0; t < threads_; ++t) wrong_ += last[t] < order_.size() ? wrong_words(t, last[t]) : 0;
    return {};
  }
  [[nodiscard]] double wrong() const { return wrong_; }

 private:
  /// Neighbouring blocks of the order go to one thread.
  void part(std::size_t thread, std::size_t& last, std::atomic<int>& fault) {
    for (std::size_t i = order_.size() * thread / threads_; i < order_.size() * (thread + 1) / threads_; ++i) {
      std::size_t done = 0;
      while (done < block_ && fault == 0) {
        const auto place = static_cast<off_t>(order_[i] * block_ + done);
        const ssize_t now = ::pread(file_.descriptor(), memory_[thread].get() + done, block_ - done, place);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) fault = now < 0 ? errno : EIO;
        if (now > 0) done += static_cast<std::size_t>(now);
      }
      if (fault != 0) return;
      last = order_[i];
    }
  }

  [[nodiscard]] double wrong_words(std::size_t thread, std::size_t block) const {
    double wrong = 0;
    const std::size_t words = block_ / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory_[thread].get() + i * sizeof(word), sizeof(word));
      wrong += word == word_at(block * words + i) ? 0 : 1;
    }
    return wrong;
  }

  const KnownFile& file_;
  std::size_t block_;
  std::size_t threads_;
  std::vector<std::size_t> order_;
  std::vector<BlockMemory> memory_;
  double wrong_ = 0;
};

/// A round by itself: between two passes the page cache is emptied, which no launch that is timed may do.
Status measure_storage(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                       Run& run) {
  const auto& params = what.params;
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, params));
  if (const auto s = supports_storage(*what.workload, device.info(), params); !s.available) {
    return unsupported_error(s.reason, s.hint);
  }
  const auto& folder = params.text("folder");
  KnownFile file;
  WM_TRY(file.make(folder.empty() ? fs::temp_directory_path() : fs::path(folder), params.integer("size"),
                   params.text("access") == "direct"));
  Reader reader(file, params, options.seed);
  const bool cold = params.text("cache") == "cold";
  WM_ASSIGN(const auto passes, time_passes(options, run, [&](double& seconds) -> Status {
              if (cold) WM_TRY(file.forget());
              return reader.pass(seconds);
            }));
  if (passes.empty()) return {};
  if (!record_passes(
          run, {reader.wrong(), 0, "words that differ", "the file as it was written, the last block of each thread"},
          fmt::format("{:.0f} words that were read differ from the written ones", reader.wrong()), passes)) {
    run.hint = "the storage or its memory is broken";
    return {};
  }
  add_rate(run, "bandwidth", "B/s", run.cost.bytes, passes);
  add_rate(run, "reads_rate", "1/s", run.cost.bytes / static_cast<double>(params.integer("block")), passes);
  if (const auto need = static_cast<double>(params.integer("need")); need > 0) {
    add_rate(run, "need_ratio", "ratio", run.cost.bytes / need, passes);
  }
  return {};
}

}  // namespace

extern const measure::Workload kStorage{
    .id = "storage",
    .summary = "reading a file in blocks by threads",
    .params = kStorageParams,
    .cost = storage_cost,
    .supports = supports_storage,
    .prepare = nullptr,
    .cases = storage_cases,
    .default_mode = Mode::hot,
    .measure = measure_storage,
};

}  // namespace warpmark::workloads
