// A report in the format that was asked for: the one place that chooses by format.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/report.h"
#include "model/run.h"
#include "report/draw/format.h"

namespace warpmark::report {

/// `format` is the id of a reporter.
[[nodiscard]] std::string render(const Report& report, std::string_view format, const RenderOptions& options);

/// A format that only one kind of result has, or has in a way of its own.
struct Form {
  std::string format;
  std::function<std::string()> write;
};

/// A result that can be shown: as a report in the format of every reporter, and in forms of its own, which come first.
struct Shown {
  Report report;
  std::vector<Form> forms = {};  ///< "json", "github", ...
};

/// "text", "md", "html", then the forms.
[[nodiscard]] std::vector<std::string> formats_of(const Shown& shown);

/// Usage error that lists the formats of this result if it has no such format.
[[nodiscard]] Result<std::string> render(const Shown& shown, std::string_view format, const RenderOptions& options);

/// What was measured, with all session writers. `session` must outlive it.
[[nodiscard]] Shown shown_session(const Session& session);

}  // namespace warpmark::report
