// The variants of a matrix as stored results: one session with a Run of all samples of each variant, its settings the
// values of the axes, so that history, trend and check see each variant as a series.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/matrix.h"
#include "validate/ab_test.h"
#include "validate/matrix_spec.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Of a complete matrix, at least one sample. Doing it again for the same matrix, as after a crash, adds nothing.
/// Returns the session's id.
[[nodiscard]] Result<std::string> store_matrix(const Context& context, const ParsedOptions& options,
                                               const validate::MatrixSpec& spec, const Matrix& matrix,
                                               const std::vector<validate::AbSample>& samples);

}  // namespace warpmark::apps
