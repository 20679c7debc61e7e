// Files of results that a person names on the command line, in any format that can be read.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "exchange/import.h"
#include "model/fields/options.h"

namespace warpmark::apps {

/// Sessions of a file. One without a date counts as measured when it was last changed. Environment error if it cannot
/// be read; otherwise as import_results.
[[nodiscard]] Result<std::vector<Session>> read_result_file(const std::string& path,
                                                            const exchange::ImportOptions& options = {});

/// Whether the word names a file and not a stored session.
[[nodiscard]] bool is_result_file(const std::string& word);

/// "NAME=lower", of --better.
[[nodiscard]] Result<std::pair<std::string, Better>> direction_of(const std::string& text);

/// How the user's files are read, by the options of the verb; the machine "this" is this very one.
[[nodiscard]] Result<exchange::ImportOptions> read_as(const ParsedOptions& options);

/// The one session of a file. Data error if it holds several.
[[nodiscard]] Result<Session> read_one_session(const std::string& path, const exchange::ImportOptions& options = {});

}  // namespace warpmark::apps
