// Collectives between processes on host memory, each call made by libwarpmark_mpi.so.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "collectives/calls/engine.h"
#include "collectives/mpi/mpi_module_api.h"
#include "device/machine.h"

namespace warpmark::collectives {
namespace {

Status mpi_status(const MpiModule& module, int code, const std::string& doing) {
  if (code == 0) return {};
  std::array<char, 512> text{};
  module.error_text(code, text.data(), static_cast<int>(text.size()));
  return environment_error(fmt::format("{} failed: {}", doing, text.data()),
                           "truncated messages come from ranks that were called with different sizes");
}

class MpiBootstrap final : public Bootstrap {
 public:
  explicit MpiBootstrap(const MpiModule& module) : module_(module) {}
  ~MpiBootstrap() override {
    if (started_) module_.finish();
  }
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;

  Status start() {
    WM_TRY(mpi_status(module_, module_.start(&rank_, &ranks_, &local_rank_), "MPI_Init"));
    started_ = true;
    return {};
  }
  [[nodiscard]] int process() const override { return rank_; }
  [[nodiscard]] int processes() const override { return ranks_; }
  [[nodiscard]] int local_process() const override { return local_rank_; }
  Status barrier() override { return mpi_status(module_, module_.barrier(), "MPI_Barrier"); }
  Result<std::vector<double>> all_gather(std::span<const double> mine) override {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks_));
    WM_TRY(mpi_status(module_, module_.all_gather(mine.data(), static_cast<int>(mine.size()), all.data()),
                      "MPI_Allgather"));
    return all;
  }
  Status broadcast(std::span<std::byte> bytes, int from) override {
    return mpi_status(module_, module_.broadcast(bytes.data(), static_cast<int>(bytes.size()), from), "MPI_Bcast");
  }
  Result<std::int64_t> clock_offset_ns() override {
    std::int64_t mine = 0;
    for (int other = 1; other < ranks_; ++other) {
      WM_TRY(barrier());
      if (rank_ == 0) WM_TRY(answer_with_clock(other));
      if (rank_ == other) {
        WM_ASSIGN(mine, ask_clock());
      }
    }
    return mine;
  }

 private:
  static constexpr int kAsked = 20;

  Status answer_with_clock(int other) {
    for (int i = 0; i < kAsked; ++i) {
      std::int64_t value = 0;
      WM_TRY(mpi_status(module_, module_.receive(&value, sizeof(value), other), "MPI_Recv"));
      value = monotonic_ns();
      WM_TRY(mpi_status(module_, module_.send(&value, sizeof(value), other), "MPI_Send"));
    }
    return {};
  }

  Result<std::int64_t> ask_clock() {
    std::int64_t best_round_trip = INT64_MAX, offset = 0;
    for (int i = 0; i < kAsked; ++i) {
      const std::int64_t before = monotonic_ns();
      std::int64_t theirs = before;
      WM_TRY(mpi_status(module_, module_.send(&theirs, sizeof(theirs), 0), "MPI_Send"));
      WM_TRY(mpi_status(module_, module_.receive(&theirs, sizeof(theirs), 0), "MPI_Recv"));
      const std::int64_t after = monotonic_ns();
      if (after - before >= best_round_trip) continue;
      best_round_trip = after - before;
      offset = theirs - (before + (after - before) / 2);
    }
    // Ranks of one host share the clock: what is measured there is half the difference of two ways through MPI.
    return std::abs(offset) < best_round_trip ? 0 : offset;
  }

  const MpiModule& module_;
  bool started_ = false;
  int rank_ = 0;
  int ranks_ = 1;
  int local_rank_ = 0;
};

/// Pages of our own, touched when they are made.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { reset(); }
  Status make(std::size_t bytes) {
    reset();
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
      return environment_error(fmt::format("no memory for a buffer of {} bytes a rank", bytes),
                               "use a smaller -e, or fewer ranks a host");
    }
    data_ = data, bytes_ = bytes;
    std::memset(data_, 0, bytes_);
    return {};
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void reset() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

void wait_for(double seconds) {
  const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (monotonic_ns() < end) {
    const timespec pause{0, 20'000};
    ::nanosleep(&pause, nullptr);
  }
}

class MpiEngine final : public Engine {
 public:
  MpiEngine(const MpiModule& module, Bootstrap& bootstrap) : module_(module), bootstrap_(bootstrap) {}

  [[nodiscard]] const char* id() const override { return "mpi"; }
  [[nodiscard]] std::string version() const override {
    std::array<char, 256> text{};
    module_.version(text.data(), static_cast<int>(text.size()));
    return text.data();
  }
  [[nodiscard]] int ranks() const override { return bootstrap_.processes(); }
  [[nodiscard]] int first_rank() const override { return bootstrap_.process(); }
  [[nodiscard]] int local_ranks() const override { return 1; }
  [[nodiscard]] bool times_each_for_free() const override { return true; }
  [[nodiscard]] std::string describe(int) const override {
    return fmt::format("Pid {:6} on {:>10} device cpu", ::getpid(), device::host_name());
  }

  [[nodiscard]] std::size_t host_bytes(std::size_t bytes_a_side) const override { return 2 * bytes_a_side; }
  Status allocate(std::size_t bytes_a_side) override {
    WM_TRY(sides_[0].make(bytes_a_side));
    return sides_[1].make(bytes_a_side);
  }
  Status fill(int, const Region& region, const ExactInput& input, std::uint64_t salt, int rank) override {
    fill_exact(at(region.side, region.offset_bytes), region.type, region.count, input, salt, rank);
    return {};
  }
  Status poison(int, const Region& region) override {
    const auto bytes = static_cast<std::size_t>(region.count) * size_of(region.type);
    std::memset(at(region.side, region.offset_bytes), 0xFF, bytes);
    return {};
  }
  Result<std::int64_t> count_wrong(int, const Region& region, const Expected& expected) override {
    return collectives::count_wrong(at(region.side, region.offset_bytes), region.type, region.count, expected);
  }
  Status corrupt(int, Side side, std::size_t offset_bytes) override {
    *at(side, offset_bytes) ^= std::byte{0x41};
    return {};
  }
  [[nodiscard]] std::int64_t in_place_result(const Call& call, int rank) const override {
    return call.kind == Collective::scatter ? rank * call.counts.parameter : 0;
  }
  [[nodiscard]] Status supports(const Call& call) const override {
    if (call.graph) return unsupported_error("MPI has no CUDA graphs", "leave -G away, or use --engine nccl");
    if (call.counts.parameter > INT_MAX) {
      return unsupported_error(
          fmt::format("MPI counts up to {} elements, {} are asked for", INT_MAX, call.counts.parameter),
          "use a wider type (-d f64) or a smaller -e");
    }
    return {};
  }

  Result<std::vector<RankLoop>> run(const Call& call, const SetLayout& layout, const LoopRequest& request) override {
    RankLoop loop;
    loop.each.resize(static_cast<std::size_t>(request.iterations));
    const auto element = static_cast<std::int64_t>(size_of(call.type));
    const std::int64_t rank = bootstrap_.process();
    const bool gathers = call.kind == Collective::all_gather || call.kind == Collective::gather;
    const std::int64_t input = call.in_place && gathers ? rank * call.counts.parameter * element : 0;
    const std::int64_t result = call.in_place ? in_place_result(call, static_cast<int>(rank)) * element : 0;
    const double delay = request.delay_s.empty() ? 0 : request.delay_s[0];
    const std::int64_t begin = monotonic_ns();
    std::int64_t before = begin;
    for (int i = 0; i < request.iterations; ++i) {
      const auto set = static_cast<std::size_t>((request.first + i) % layout.sets) * layout.stride_bytes;
      std::byte* receive = at(Side::receive, set);
      const std::byte* send = call.in_place ? receive + input : at(Side::send, set);
      if (delay > 0) wait_for(delay);
      const std::int64_t entered = monotonic_ns();
      const int code = module_.call(&call, send, receive + result);
      const std::int64_t left = monotonic_ns();
      if (code != 0) return mpi_status(module_, code, info_of(call.kind).id).error();
      loop.each[static_cast<std::size_t>(i)] = {entered, static_cast<double>(left - before) * 1e-9};
      before = left;
    }
    loop.seconds = static_cast<double>(before - begin) * 1e-9;
    return std::vector<RankLoop>{std::move(loop)};
  }

  Result<double> copy_rate(std::size_t bytes) override {
    WM_TRY(bootstrap_.barrier());
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      const std::int64_t begin = monotonic_ns();
      std::memcpy(at(Side::receive, 0), at(Side::send, 0), bytes);
      const double seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      best = std::max(best, static_cast<double>(bytes) / std::max(seconds, 1e-9));
    }
    return best;
  }

 private:
  [[nodiscard]] std::byte* at(Side side, std::size_t offset) const {
    return sides_[side == Side::send ? 0 : 1].data() + offset;
  }

  const MpiModule& module_;
  Bootstrap& bootstrap_;
  std::array<Pages, 2> sides_;
};

namespace fs = std::filesystem;

constexpr const char* kModuleFile = "libwarpmark_mpi.so";

std::vector<fs::path> candidates() {
  const char* named = std::getenv("WARPMARK_MPI_MODULE");
  if (named != nullptr && *named != '\0') return {named};
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kModuleFile, folder.parent_path() / kModuleFile,
          folder.parent_path() / "lib" / "warpmark" / kModuleFile};
}

Result<const MpiModule*> load(const fs::path& path) {
  // Open MPI loads plug-ins of its own, which look for its symbols among the global ones.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return environment_error(fmt::format("MPI cannot be loaded: {}", why != nullptr ? why : path.string()),
                             "install Open MPI: apt-get install openmpi-bin libopenmpi3; or load its module first");
  }
  const auto entry = reinterpret_cast<decltype(&warpmark_mpi_module)>(dlsym(library, kMpiModuleSymbol));
  const MpiModule* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->abi != kMpiModuleAbi) {
    return environment_error(path.string() + " belongs to another build of warpmark",
                             "use the module that was built with this executable");
  }
  return module;
}

Result<const MpiModule*> find_module() {
  std::string probed;
  for (const auto& path : candidates()) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return load(path);
    probed += (probed.empty() ? "" : ", ") + path.string();
  }
  return environment_error(
      fmt::format("this warpmark has no MPI: {} was not found; looked for {}", kModuleFile, probed),
      "build it where mpicc is installed (apt-get install libopenmpi-dev), or name the file in "
      "WARPMARK_MPI_MODULE");
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> mpi_bootstrap() {
  WM_ASSIGN(const auto* module, mpi_module());
  auto bootstrap = std::make_unique<MpiBootstrap>(*module);
  WM_TRY(bootstrap->start());
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

Result<std::unique_ptr<Engine>> mpi_engine(Bootstrap& bootstrap) {
  WM_ASSIGN(const auto* module, mpi_module());
  return std::unique_ptr<Engine>(std::make_unique<MpiEngine>(*module, bootstrap));
}

Result<const MpiModule*> mpi_module() {
  static const Result<const MpiModule*> module = find_module();
  return module;
}

}  // namespace warpmark::collectives
