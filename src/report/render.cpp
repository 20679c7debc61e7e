#include "report/render.h"

#include "base/check.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/text.h"

namespace warpmark::report {

std::string render(const Report& report, std::string_view format, const RenderOptions& options) {
  if (format == "md") return render_markdown(report);
  if (format == "html") return render_html(report);
  WM_CHECK(format == "text");
  return render_text(report, options);
}

}  // namespace warpmark::report
