#include "warpmark/terminal/github_step.h"

#include <fstream>
#include <ostream>

namespace warpmark::apps {

Status annotate_step(Context& context, const std::string& annotations, const std::string& comment) {
  context.err << annotations;
  const char* summary = context.environment("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return {};
  std::ofstream file(summary, std::ios::app | std::ios::binary);
  file << comment;
  file.flush();
  if (file) return {};
  return environment_error(std::string("cannot write the summary of the job: ") + summary,
                           "unset GITHUB_STEP_SUMMARY, or name a file that can be written");
}

}  // namespace warpmark::apps
