// Pictures that a task's questions show. An item names them by their content, so that its hash is theirs too, and they
// are read when it is asked: a task may show more than memory holds.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "evaluate/task.h"

namespace warpmark::evaluate {

struct Picture {
  std::filesystem::path path;  ///< empty: `url` is an address, which the server is told as it is
  std::string url;             ///< what stands in the item's request: "sha256:..." of a file
};

/// By what the task's templates name.
using Pictures = std::map<std::string, Picture>;

/// Looks at all pictures of all examples. Environment error for one that cannot be read, data error for one that is
/// neither PNG, JPEG, GIF nor WebP.
[[nodiscard]] Result<Pictures> pictures_of(const Task& task, const std::vector<accuracy::Record>& data,
                                           const std::filesystem::path& folder);

/// The request with the files as data: URLs. Data error for a file that changed since it was looked at.
[[nodiscard]] Result<Json> with_pictures(Json request, const std::vector<Picture>& pictures);

/// The picture that a task or an answer names, relative to the folder.
[[nodiscard]] Result<Picture> picture_named(const std::string& name, const std::filesystem::path& folder);

}  // namespace warpmark::evaluate
