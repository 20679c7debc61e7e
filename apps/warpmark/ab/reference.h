// A revision of the user's repository, checked out and built in a folder of ours beside the database, to be measured
// beside the user's code in every round. It stays there and is built once; another revision, or another way to build,
// takes its place.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "validate/commands/command_spec.h"
#include "warpmark/command.h"

namespace warpmark::apps {

class Reference {
 public:
  /// Usage error if there is no such revision; data error if it cannot be built; environment error while another
  /// process measures beside a reference of the same repository.
  [[nodiscard]] static Result<std::unique_ptr<Reference>> prepare(const Context& context, const ParsedOptions& options,
                                                                  const validate::CommandSpec& spec,
                                                                  const std::string& revision);
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference();

  [[nodiscard]] const std::string& commit() const { return commit_; }
  /// Where the project stands in the checkout.
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  explicit Reference(int lock) : lock_(lock) {}
  int lock_;
  std::string commit_;
  std::string directory_;
};

}  // namespace warpmark::apps
