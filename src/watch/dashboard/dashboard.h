// `warpmark dashboard`: pages over the store, and the JSON that they are made of. Answers requests and nothing else:
// there is no request that changes anything or starts a program.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/store.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/changes.h"
#include "watch/dashboard/files.h"
#include "watch/server/server.h"

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

struct DashboardOptions {
  Stores::Open open_store;
  bool keeps_store = false;  ///< open for the next request
  CompareSessions compare;
  ReportOf report_of;
  std::filesystem::path files;  ///< a folder of recordings and reports; empty: none
  std::string about;            ///< "warpmark 0.1.0"
};

/// Thread safe, as far as `open_store` and `compare` are.
class Dashboard {
 public:
  explicit Dashboard(DashboardOptions options)
      : options_(std::move(options)), stores_(options_.open_store, options_.keeps_store), files_(options_.files) {}

  [[nodiscard]] Answer answer(const Asked& asked);
  /// The JSON of "/api/<name>?<query>".
  [[nodiscard]] Result<Json> api(const std::string& name, const std::string& query);
  [[nodiscard]] Files& files() { return files_; }
  [[nodiscard]] const DashboardOptions& options() const { return options_; }

 private:
  DashboardOptions options_;
  Stores stores_;
  Changes changes_;
  Files files_;
};

}  // namespace warpmark::watch
