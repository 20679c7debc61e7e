#include "analyze/needless/attention_shapes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

namespace warpmark::analyze {

namespace {

struct ScoreShape {
  std::int64_t elements, rows, columns;
  auto operator<=>(const ScoreShape&) const = default;
};

bool touches(const Shapes& shapes, const std::set<ScoreShape>& scores) {
  for (const auto& dims : shapes) {
    if (dims.size() < 3) continue;
    const std::int64_t a = dims[dims.size() - 2];
    const std::int64_t b = dims[dims.size() - 1];
    const std::int64_t elements = elements_in(dims);
    if (scores.contains({elements, a, b}) || scores.contains({elements, b, a})) return true;
  }
  return false;
}

/// A product of [.., m, k] and [.., k, n] whose result [.., m, n] is a tensor of scores.
bool makes(const Shapes& shapes, const std::set<ScoreShape>& scores) {
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    if (shapes[i].size() < 3 || shapes[i + 1].size() < 3) continue;
    const std::int64_t rows = shapes[i][shapes[i].size() - 2];
    const std::int64_t columns = shapes[i + 1].back();
    const std::int64_t elements = elements_in(shapes[i]) / std::max<std::int64_t>(1, shapes[i].back()) * columns;
    if (scores.contains({elements, rows, columns})) return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> find_attention_by_shape(const WorkList& list, const RecordedShapes& shapes) {
  std::vector<std::size_t> found;
  std::set<ScoreShape> softmaxed;
  std::set<ScoreShape> multiplied;
  for (const GpuWork& work : list.works) {
    if (work.category != Category::softmax && work.category != Category::gemm) continue;
    for (const auto& dims : shapes.of(work.op)) {
      if (dims.size() < 3 || dims[dims.size() - 1] < 16 || dims[dims.size() - 2] < 2) continue;
      const ScoreShape shape{elements_in(dims), dims[dims.size() - 2], dims[dims.size() - 1]};
      (work.category == Category::softmax ? softmaxed : multiplied).insert(shape);
    }
  }
  std::set<ScoreShape> scores;
  std::set_intersection(softmaxed.begin(), softmaxed.end(), multiplied.begin(), multiplied.end(),
                        std::inserter(scores, scores.end()));
  if (scores.empty()) return found;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.category == Category::gemm) {
      if (touches(shapes.of(work.op), scores) || makes(shapes.of(work.op), scores)) found.push_back(i);
    } else if ((is_compute(work.category) || work.category == Category::copy_on_device) &&
               work.category != Category::convolution && work.category != Category::attention) {
      if (touches(shapes.of(work.op), scores)) found.push_back(i);
    }
  }
  return found;
}

}  // namespace warpmark::analyze
