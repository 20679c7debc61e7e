#include "analyze/needless/one_hot.h"

#include <algorithm>
#include <cstdint>

#include "analyze/names/kernel_names.h"
#include "analyze/names/operators.h"
#include "analyze/needless/fitted.h"

namespace warpmark::analyze {

namespace {

constexpr int kWorksAfter = 16;    // works after the rows; a tensor above 2^31 bytes takes several a pass
constexpr double kConversion = 3;  // times writing the rows: it reads as much and writes half

/// Rows and classes: all dimensions but the last one are rows.
struct RowsAndClasses {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  bool operator==(const RowsAndClasses&) const = default;
};

RowsAndClasses rows_of(const std::vector<std::int64_t>& dims) {
  if (dims.size() < 2 || dims.back() <= 0) return {};
  return {elements_in(dims) / dims.back(), dims.back()};
}

RowsAndClasses largest(const Shapes& inputs) {
  RowsAndClasses most;
  for (const std::vector<std::int64_t>& dims : inputs) {
    const RowsAndClasses one = rows_of(dims);
    if (one.rows * one.classes > most.rows * most.classes) most = one;
  }
  return most;
}

bool reads_rows(const Shapes& inputs, const RowsAndClasses& rows, bool or_transposed) {
  return std::ranges::any_of(inputs, [&](const std::vector<std::int64_t>& dims) {
    const RowsAndClasses one = rows_of(dims);
    return one == rows || (or_transposed && one == RowsAndClasses{rows.classes, rows.rows});
  });
}

/// The works of one call of one_hot and what follows, in order.
class Follower {
 public:
  Follower(const Timeline& timeline, const WorkList& list, NameId one_hot, const RecordedShapes& shapes)
      : timeline_(timeline), list_(list), one_hot_(one_hot), shapes_(shapes) {}

  std::vector<OneHotWork> run() {
    for (const std::size_t i : works_of_main_stream(list_)) {
      const GpuWork& work = list_.works[i];
      if (is_host_copy(work.category)) continue;
      if (any_around(list_, work.op, [this](EventIndex op) { return timeline_.events.name[op] == one_hot_; })) {
        write(i);
      } else if (reach_ > 0) {
        --reach_;
        if (length(i) > kBandwidthBoundNs && !read(i)) reach_ = 0;
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  void write(std::size_t i) {
    if (!writing_) rows_ = {}, written_ns_ = 0, converted_ = false;
    writing_ = true;
    reach_ = kWorksAfter;
    const RowsAndClasses rows = largest(shapes_.of(list_.works[i].op));
    if (rows.rows * rows.classes > rows_.rows * rows_.classes) rows_ = rows;
    if (length(i) <= kBandwidthBoundNs) return;
    written_ns_ += length(i);
    found_.push_back({i, 0.0F});
  }

  /// A conversion; sums and products only of what was converted, as one-hot rows are integers. Scores of the same
  /// classes are read by a softmax or a maximum first, which ends this.
  bool read(std::size_t i) {
    writing_ = false;
    const GpuWork& work = list_.works[i];
    const bool converted = is_elementwise(work.category) && is_copy_kernel(timeline_.name_of(work.event));
    const Shapes& inputs = shapes_.of(work.op);
    if (converted) {
      const bool known = rows_.rows > 0 ? reads_rows(inputs, rows_, false) : !converted_;
      if (!known || static_cast<double>(length(i)) > kConversion * static_cast<double>(written_ns_)) return false;
      converted_ = true;
      found_.push_back({i, 0.0F});
      return true;
    }
    const bool sum = work.op != kNoEvent && is_sum(timeline_.name_of(work.op));
    const bool product = work.category == Category::gemm;
    if (!converted_ || rows_.rows == 0 || !(product || sum) || !reads_rows(inputs, rows_, product)) return false;
    found_.push_back({i, kPickedRows});
    return true;
  }

  const Timeline& timeline_;
  const WorkList& list_;
  NameId one_hot_;
  const RecordedShapes& shapes_;
  std::vector<OneHotWork> found_;
  RowsAndClasses rows_;  // unknown: none
  std::int64_t written_ns_ = 0;
  int reach_ = 0;
  bool writing_ = false;
  bool converted_ = false;
};

}  // namespace

std::vector<OneHotWork> find_one_hots(const Timeline& timeline, const WorkList& list, const RecordedShapes& shapes) {
  const auto one_hot = timeline.names.find(kOneHotOperator);
  return one_hot ? Follower(timeline, list, *one_hot, shapes).run() : std::vector<OneHotWork>();
}

}  // namespace warpmark::analyze
