// The store that requests ask.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/store.h"

namespace warpmark::watch {

/// Opened at each request, as a file may come and go; or kept for the next, as a connection to a server takes longer
/// than most answers. Thread safe, as far as `open` is.
class Stores {
 public:
  using Open = std::function<Result<std::unique_ptr<store::Store>>()>;
  Stores(Open open, bool keeps) : open_(std::move(open)), keeps_(keeps) {}

  [[nodiscard]] Result<Json> ask(const std::function<Result<Json>(store::Store&)>& question);

 private:
  std::unique_ptr<store::Store> take();
  void keep(std::unique_ptr<store::Store> store);

  Open open_;
  bool keeps_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<store::Store>> idle_;  ///< as many as requests at one time
};

}  // namespace warpmark::watch
