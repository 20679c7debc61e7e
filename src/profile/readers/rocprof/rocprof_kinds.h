// What the files of AMD's profilers share: names of copies and of kinds of calls, launches in work items.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <streambuf>
#include <string_view>
#include <vector>

#include "model/profile/timeline.h"
#include "profile/catalog.h"
#include "profile/readers/nsys/nsys_events.h"
#include "profile/source.h"

namespace warpmark::profile {

/// "MEMORY_COPY_HOST_TO_DEVICE", "HOST_TO_DEVICE", "CopyHostToDevice".
[[nodiscard]] CopyKind rocprof_copy_kind(std::string_view name);
/// "HIP_RUNTIME_API_EXT", "MARKER_CORE_API", "RCCL_API", ...
[[nodiscard]] EventKind rocprof_call_kind(std::string_view domain);
/// Grids are counted in work items.
[[nodiscard]] LaunchShape rocprof_shape(const std::array<std::int64_t, 3>& grid,
                                        const std::array<std::int64_t, 3>& block, std::int64_t shared_bytes);

class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source), bytes_(1 << 16) {}
  /// Of the source: at an error the stream ends.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    const auto read = source_.read(bytes_);
    if (!read.ok()) status_ = read.error();
    if (!read.ok() || read.value() == 0) return traits_type::eof();
    setg(bytes_.data(), bytes_.data(), bytes_.data() + read.value());
    return traits_type::to_int_type(*gptr());
  }

 private:
  ByteSource& source_;
  std::vector<char> bytes_;
  Status status_;
};

/// Whether another file of `files` has the kernels of the same process: its reader reads this one as well.
[[nodiscard]] bool is_read_with_kernels(const std::filesystem::path& file,
                                        const std::vector<std::filesystem::path>& files);

extern const TraceReader kRocprofSqliteReader;

/// Whether the tables are of one of these tools.
[[nodiscard]] bool is_rocprof_database(const NsysTables& tables);
[[nodiscard]] Status read_rocprof_tables(const NsysTables& tables, ProfileSession& session);

}  // namespace warpmark::profile
