// The log of one or several runs of NVIDIA's nccl-tests, line by line (src/common.cu and util.cu of
// github.com/NVIDIA/nccl-tests, versions 2.0 to 2.19; rccl-tests print the same). Columns are found by the table's
// header. Prefixes of launchers (srun -l, mpirun --tag-output) and lines of NCCL_DEBUG, which cut rows in two, are
// recognized; a row that is not whole is left out and counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile/kernel_profile.h"
#include "model/profile/timeline.h"
#include "profile/catalog.h"

namespace warpmark::profile {

struct NcclDevice {
  int rank = 0;
  std::string host;
  std::string name;
};

/// One table: what one program printed under one header.
struct NcclSweep {
  std::string collective;  ///< of the program's name; empty where the log does not have it
  std::vector<NcclDevice> devices;
  bool several_rank_zeros = false;              ///< processes that do not know of one another: nccl-tests without MPI
  std::map<std::string, std::string> settings;  ///< of the line "# nThread 1 nGpus 8 ...": "graph" is "1"
  std::vector<CollectiveResult> results;
  std::optional<std::int64_t> out_of_bounds;  ///< wrong elements of all rows together
  std::int64_t announced_sizes = 0;           ///< how many the line "# nThread ... minBytes 8 ..." names; 0: none
  std::set<std::int64_t> printed_sizes;       ///< of rows, with those that were left out
  bool begun = false, ended = false;          ///< whether it has that line, and the lines after the table
  [[nodiscard]] int ranks() const;            ///< the largest rank + 1; 0 if none is named
};

struct NcclLog {
  std::string version;          ///< of nccl-tests
  std::string library_version;  ///< of NCCL
  std::vector<NcclSweep> sweeps;
  std::vector<DataQualityIssue> issues;  ///< rows that were left out
};

/// "all_reduce" of the first "all_reduce_perf" in the text; empty if there is none.
[[nodiscard]] std::string nccl_collective_in(std::string_view text);

/// "2.27.3" of 22703.
[[nodiscard]] std::string nccl_version_of(std::int64_t code);

/// Names the collective of a sweep where nothing else does, from its operation, root and the ratio of the bandwidths.
void infer_collective(NcclSweep& sweep);

class NcclLogParser {
 public:
  void add(std::string_view line);
  [[nodiscard]] NcclLog finish();

 private:
  struct Half {
    std::size_t first = 0;             ///< column of the time
    std::vector<std::string> columns;  ///< "time", "algbw", "busbw", "#wrong", "i_min", ...
  };
  struct Layout {
    std::map<std::string, std::size_t> keys;  ///< "size", "type", "redop", "root": column
    std::vector<Half> halves;
    std::size_t columns = 0;
  };
  NcclSweep& sweep();
  void begin_sweep();
  void learn_prefix(std::string_view line);
  [[nodiscard]] std::string_view without_prefix(std::string_view line) const;
  [[nodiscard]] std::string_view without_debug(std::string_view line) const;
  void comment(std::string_view line);
  void settings(const std::vector<std::string_view>& words);
  void device(const std::vector<std::string_view>& words);
  void header(const std::vector<std::string_view>& words);
  void body(std::string_view line);
  void row(std::string_view line);
  void drop_cut_row();
  bool add_half(const std::vector<std::string_view>& words, const Half& half, bool in_place);

  NcclLog log_;
  Layout layout_;
  std::string next_collective_;
  std::vector<std::string> prefixes_;  ///< of launchers, runs of digits as one 9
  std::set<std::string, std::less<>> hosts_;
  std::string cut_row_;  ///< the beginning of a row whose rest follows
  std::size_t results_ = 0;
};

extern const TraceReader kNcclTestsReader;

/// All tables of the log, with what it says of versions, hosts and GPUs; empty if it has no row.
[[nodiscard]] Result<NcclLog> read_nccl_log(ByteSource& source);

}  // namespace warpmark::profile
