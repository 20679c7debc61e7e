// What a program's addresses are called: functions and lines from ELF symbols and DWARF, read by elfutils' libdw, which
// is loaded at run time where it is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::profile {

/// One function at an address; where it was inlined, several stand at the same one.
struct SymbolizedFrame {
  std::string file;  ///< absolute where debug information says so; empty without it
  std::int64_t line = 0;
  std::string function;  ///< empty if nothing is known
};

/// One thread at a time.
class Symbolizer {
 public:
  /// Environment error where libdw is not installed.
  [[nodiscard]] static Result<Symbolizer> make();
  Symbolizer(Symbolizer&&) noexcept;
  Symbolizer& operator=(Symbolizer&&) noexcept;
  ~Symbolizer();

  /// The functions at an address as the file's own tables count it, the innermost first. One frame at least.
  [[nodiscard]] std::vector<SymbolizedFrame> frames_at(const std::string& path, std::uint64_t address);

 private:
  struct Session;
  explicit Symbolizer(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

}  // namespace warpmark::profile
