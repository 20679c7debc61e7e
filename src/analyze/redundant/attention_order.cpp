#include "analyze/redundant/attention_order.h"

#include "analyze/names/kernel_names.h"

namespace warpmark::analyze {

namespace {

class Finder {
 public:
  Finder(const Timeline& timeline, const WorkList& list, std::span<const std::size_t> order)
      : timeline_(timeline), list_(list), order_(order) {}

  std::vector<std::size_t> run() const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const GpuWork& work = list_.works[order_[at]];
      if (work.category != Category::softmax || is_log_softmax(name(order_[at]))) continue;
      std::vector<std::size_t> run{order_[at]};
      if (reach_matrix(at, -1, run) && reach_matrix(at, +1, run)) found.insert(found.end(), run.begin(), run.end());
    }
    return found;
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }
  std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  bool reach_matrix(std::size_t from, int step, std::vector<std::size_t>& run) const {
    const std::size_t softmax = order_[from];
    const bool backward = is_of_backward_pass(name(softmax));
    auto at = static_cast<std::ptrdiff_t>(from);
    while (true) {
      at += step;
      if (at < 0 || at >= std::ssize(order_)) return false;
      const std::size_t i = order_[static_cast<std::size_t>(at)];
      const GpuWork& work = list_.works[i];
      if (work.category == Category::memset) continue;
      if (work.category == Category::gemm) {
        if (work.math == MatrixMath::simt_fp64) return false;  // statistics, not attention
        run.push_back(i);
        if (backward) push_twin(at, step, run);
        return true;
      }
      const bool unnamed = work.category == Category::other && work.op == kNoEvent;  // a mask of the program's own
      if (!is_elementwise(work.category) && work.category != Category::reduction && !unnamed) return false;
      run.push_back(i);
    }
  }

  /// The backward pass has two products on either side: gradients of the scores and of V, of Q and of K.
  void push_twin(std::ptrdiff_t at, int step, std::vector<std::size_t>& run) const {
    const std::int64_t twin = length(run.back());
    for (at += step; at >= 0 && at < std::ssize(order_); at += step) {
      const std::size_t i = order_[static_cast<std::size_t>(at)];
      if (list_.works[i].category == Category::memset) continue;
      const bool alike = length(i) * 2 >= twin && length(i) <= twin * 2;
      if (list_.works[i].category == Category::gemm && alike) run.push_back(i);
      return;
    }
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const std::size_t> order_;
};

}  // namespace

std::vector<std::size_t> find_attention_by_order(const Timeline& timeline, const WorkList& list,
                                                 std::span<const std::size_t> order) {
  return Finder(timeline, list, order).run();
}

}  // namespace warpmark::analyze
