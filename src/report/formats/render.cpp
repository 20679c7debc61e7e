#include "report/formats/render.h"

#include <algorithm>

#include "base/result.h"
#include "base/text.h"
#include "report/formats/catalog.h"
#include "report/results/build.h"

namespace warpmark::report {

std::string render(const Report& report, std::string_view format, const RenderOptions& options) {
  const Reporter* reporter = find_in(reporters(), format);
  WM_CHECK(reporter != nullptr);
  return reporter->write(report, options);
}

std::vector<std::string> formats_of(const Shown& shown) {
  std::vector<std::string> formats = ids_of(reporters());
  for (const Form& form : shown.forms) {
    if (std::find(formats.begin(), formats.end(), form.format) == formats.end()) formats.push_back(form.format);
  }
  return formats;
}

Result<std::string> render(const Shown& shown, std::string_view format, const RenderOptions& options) {
  for (const Form& form : shown.forms) {
    if (form.format == format) return form.write();
  }
  if (find_in(reporters(), format) != nullptr) return render(shown.report, format, options);
  return usage_error("there is no format '" + std::string(format) + "'", "formats: " + join(formats_of(shown), ", "));
}

Shown shown_session(const Session& session) {
  Shown shown{build_report(session)};
  for (const SessionWriter* writer : session_writers()) {
    shown.forms.push_back({writer->id, [&session, writer] { return writer->write(session); }});
  }
  return shown;
}

}  // namespace warpmark::report
