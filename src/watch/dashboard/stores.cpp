#include "watch/dashboard/stores.h"

#include <utility>

namespace warpmark::watch {

std::unique_ptr<store::Store> Stores::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto store = std::move(idle_.back());
  idle_.pop_back();
  return store;
}

void Stores::keep(std::unique_ptr<store::Store> store) {
  if (!keeps_) return;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(store));
}

Result<Json> Stores::ask(const std::function<Result<Json>(store::Store&)>& question) {
  if (auto kept = take()) {
    auto answer = question(*kept);
    if (answer.ok()) keep(std::move(kept));
    // The server may have restarted since: ask again over a new connection.
    if (answer.ok() || answer.error().kind != ErrorKind::environment) return answer;
  }
  WM_ASSIGN(auto store, open_());
  auto answer = question(*store);
  if (answer.ok()) keep(std::move(store));
  return answer;
}

}  // namespace warpmark::watch
