// Whole files in and out, and folders for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark {

/// The file's bytes. Refuses files above `cap_bytes`, devices, and pipes above 64 MiB or that nobody writes into.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::int64_t cap_bytes = 1 << 30);

/// "cannot write PATH: ..." for an errno: an environment error with what to do.
[[nodiscard]] Error write_error(const std::filesystem::path& path, int code);

/// Writes to a temporary file beside `path`, syncs it and renames it: a reader sees the old content or the new one,
/// also when the disk fills up or the program is killed. A link stays a link; a pipe, a terminal or a device, such as
/// /dev/stdout, is written into and never replaced.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view bytes);

/// For what is written piece by piece: the name of a temporary file beside `path`, or in the folder for temporary files
/// if `path` is a pipe, a terminal or a device.
[[nodiscard]] std::filesystem::path temporary_for(const std::filesystem::path& path);
/// Makes that file, closed and complete, the content of `path`, as write_file does; it is gone afterwards in any case.
[[nodiscard]] Status put_in_place(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// Creates the folder and those above it, as for a place of our own; nothing to do where it exists. Environment error
/// "cannot create ...", with this hint.
[[nodiscard]] Status make_folder(const std::filesystem::path& path, const std::string& hint = {});
/// For a folder that the user named: makes it, but none above it, so that a mistyped path leaves nothing behind.
[[nodiscard]] Status make_named_folder(const std::filesystem::path& path);
/// Whether the folder that `path` is to be written into is there; else an environment error that says how to make it.
[[nodiscard]] Status check_folder_of(const std::filesystem::path& path);

/// Environment error if a file could not be written there: no such folder, no permission, or it is a folder itself.
[[nodiscard]] Status check_writable(const std::filesystem::path& path);

/// The same for a folder, which need not be there; the one above it must.
[[nodiscard]] Status check_output_folder(const std::filesystem::path& folder);

/// Why an input cannot be read: a data error if nothing is there to be read, an environment error if the machine
/// refuses. `code` is an errno.
[[nodiscard]] Error read_error(const std::filesystem::path& path, int code);

/// A folder in the one for temporary files (or in `parent`), removed with all that is in it when the object goes, or by
/// remove_scratch_folders(), or by a reaper when the program is killed.
class ScratchFolder {
 public:
  /// Named warpmark-KIND-XXXXXX, for this user alone. Environment error where none can be made.
  [[nodiscard]] static Result<ScratchFolder> make(std::string_view kind, const std::filesystem::path& parent = {});
  ScratchFolder() = default;  ///< none yet
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Removes those of all objects that still live: for who ends the program without destroying them. None can be made or
/// removed afterwards. Any thread.
void remove_scratch_folders();

/// The first line of a small system file (/proc, /sys) without its newline; empty if it cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& path);

}  // namespace warpmark
