// The variants of a matrix as stored results: a session with a Run of all samples of each variant, its settings the
// values of the axes, so that history, trend and check see each variant as a series. A matrix that its budget stopped
// and that went on later is several sessions, one for each time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/matrix.h"
#include "validate/compare/compare_run.h"
#include "validate/matrix/matrix.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Stores the samples up to each of `ends`, from the end before on, as a session of its own. Doing it again for the
/// same matrix, as after a crash or with one end more, adds what is missing and nothing twice. Returns the newest
/// session's id.
[[nodiscard]] Result<std::string> store_matrix(const Context& context, const ParsedOptions& options,
                                               const validate::MatrixSpec& spec, const Matrix& matrix,
                                               std::span<const validate::AbSample> samples,
                                               std::span<const std::size_t> ends);

}  // namespace warpmark::apps
