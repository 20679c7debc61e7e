// The folder in which the parts of a recording lie until it is complete: one of each process, and ours of the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/collectors/record_program.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {

class RecordingParts {
 public:
  /// Makes the folder; `command` is what is recorded. Environment error where it cannot be written.
  [[nodiscard]] static Result<RecordingParts> make(const std::filesystem::path& out, const std::string& command);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] recording::RecordingWriter& machine() { return *machine_; }
  /// Processes that began a part.
  [[nodiscard]] std::size_t begun() const;
  /// Every one of them has ended it: it leaves a mark beside it.
  [[nodiscard]] bool all_recorded() const;
  /// Removes the folder: nothing was recorded.
  void discard();
  /// Makes the recording of the parts, with the stacks, and removes the folder. `outcome` takes what it finds; no file
  /// is written where no process has a part.
  [[nodiscard]] Status complete(const RecordOptions& options, RecordOutcome& outcome);

 private:
  RecordingParts() = default;
  std::filesystem::path folder_;
  std::unique_ptr<recording::RecordingWriter> machine_;
};

// What a program's addresses are called: functions and lines from ELF symbols and DWARF, read by elfutils' libdw, which
// is loaded at run time where it is installed.

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
