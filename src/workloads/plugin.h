// Workloads from a user's shared library (include/warpmark/plugin.h), adapted to the same descriptor as the built-in
// ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/workload.h"

namespace warpmark::workloads {

/// A loaded library and the descriptors of its workloads. Descriptors, and what they prepared, must not outlive it.
class Plugin {
 public:
  struct Content;
  explicit Plugin(std::unique_ptr<Content> content);
  Plugin(Plugin&&) noexcept;
  Plugin& operator=(Plugin&&) noexcept;
  ~Plugin();

  [[nodiscard]] std::vector<const measure::Workload*> workloads() const;
  [[nodiscard]] const std::string& name() const;

 private:
  std::unique_ptr<Content> content_;
};

/// Loads and validates a plugin: data error that names what is wrong with it, environment error if it cannot be loaded.
[[nodiscard]] Result<Plugin> load_plugin(const std::string& path);

}  // namespace warpmark::workloads
