// What became slower or faster: the newest change of level of every case. Worked out bit by bit, as a store may have
// thousands of cases, and kept for those that nothing was added to.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/store.h"
#include "watch/dashboard/documents.h"

namespace warpmark::watch {

/// Thread safe.
class Changes {
 public:
  /// "warpmark.changes/1": looks at cases for about `budget_s`, the most recently measured first, and tells how many
  /// of all it has seen by now; asked again it goes on.
  [[nodiscard]] Result<Json> answer(store::Store& store, double budget_s = 0.15);

 private:
  struct Known {
    std::string newest;              ///< CaseEntry::newest when it was looked at
    std::vector<ChangeRow> changes;  ///< of its series
  };
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace warpmark::watch
