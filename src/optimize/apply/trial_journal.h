// The journal of a search: one line of JSON for each run of the program, appended and synced when it has ended. A
// search is a function of its runs; so an interrupted one is taken up by asking the same questions again, which the
// journal answers in order until it ends. Held by one process at a time. A last line cut short by a crash is dropped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/lines/line_file.h"
#include "base/result.h"

namespace warpmark::optimize {

class TrialJournal {
 public:
  /// Opens or creates. One of another request is started anew, as is any with `fresh`. Environment error if another
  /// process holds it or it cannot be written; data error if a complete line cannot be read.
  [[nodiscard]] static Result<TrialJournal> open(const std::string& path, const std::string& request, bool fresh);

  /// What the next run of an earlier start said, if it was asked the same; else what follows is forgotten.
  [[nodiscard]] Result<std::optional<Json>> recall(const std::string& question);
  [[nodiscard]] Status append(const std::string& question, const Json& answer);
  /// The next start begins anew.
  [[nodiscard]] Status complete();
  [[nodiscard]] std::size_t known() const { return lines_.size(); }

 private:
  struct Line {
    std::string question;
    Json answer;
    std::size_t end = 0;  ///< offset behind it in the file
  };
  explicit TrialJournal(LineFile file) : file_(std::move(file)) {}
  Status read(const std::string& request);

  LineFile file_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
  std::size_t header_end_ = 0;
};

}  // namespace warpmark::optimize
