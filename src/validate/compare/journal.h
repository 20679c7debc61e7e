// The journal of a comparison: one JSON object a line, each appended and synced when its run has ended, so that a
// killed comparison goes on where it was and no run is lost or counted twice. A last line cut short by a crash is
// dropped. Held by one process at a time.
#pragma once

#include <string>
#include <vector>

#include "base/lines/line_file.h"
#include "base/result.h"
#include "validate/compare/compare_run.h"

namespace warpmark::validate {

class Journal {
 public:
  /// Opens or creates. An incomplete journal of the same request is taken up; a complete one, or one of another
  /// request, is started anew, as is any with `fresh`. Environment error if another process holds it or it cannot be
  /// written; data error if a complete line cannot be read.
  [[nodiscard]] static Result<Journal> open(const std::string& path, const std::string& request, const std::string& id,
                                            bool fresh);

  [[nodiscard]] const std::string& id() const { return id_; }  ///< of the comparison, that of the first start
  /// Samples found at opening, in order; empties the list.
  [[nodiscard]] std::vector<AbSample> take_samples() { return std::move(samples_); }
  [[nodiscard]] Status append(const AbSample& sample);
  /// Says that the samples so far go into the history, those after an earlier call's as a piece of their own. Written
  /// before they are stored, so that after a kill between both the next process knows what to store (again).
  [[nodiscard]] Status end_piece();
  /// How many samples there were at each end of a piece.
  [[nodiscard]] const std::vector<std::size_t>& pieces() const { return pieces_; }
  [[nodiscard]] Status complete();

 private:
  explicit Journal(LineFile file) : file_(std::move(file)) {}
  Status read(const std::string& request);

  LineFile file_;
  std::string id_;
  std::vector<AbSample> samples_;
  std::size_t count_ = 0;  ///< samples in the file
  std::vector<std::size_t> pieces_;
};

}  // namespace warpmark::validate
