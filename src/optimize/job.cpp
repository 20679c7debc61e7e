#include "optimize/job.h"

#include <fmt/format.h>

#include "base/json.h"
#include "optimize/outcome.h"
#include "optimize/search.h"

namespace warpmark::optimize {
namespace {

/// JSON's strings are YAML's, too.
std::string quoted_json(const std::string& text) { return dump_json(Json(text), -1); }

}  // namespace

Result<std::string> job_yaml(const Journey& journey, const Program& program) {
  WM_ASSIGN(const auto command, command_with(program, plan_of(journey)));
  bool hook = false;
  for (const auto& setting : command.plan.knobs) {
    hook = hook || !(setting.first.starts_with("env.") || setting.first.starts_with("process."));
  }
  // --apply puts on arguments and launchers by itself.
  std::string words;
  for (const auto& word : hook ? program.words : command.words)
    words += (words.empty() ? "" : ", ") + quoted_json(word);
  std::string variables;
  for (const auto& [name, value] : command.environment) {
    variables += fmt::format("            - {{name: {}, value: {}}}\n", name, quoted_json(value));
  }
  std::string text = "# A job with what was proven. Settings of the hook need warpmark and plan.yaml in the image.\n";
  text +=
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: optimized}\nspec:\n  template:\n    spec:\n"
      "      restartPolicy: Never\n      containers:\n        - name: program\n          image: YOUR_IMAGE\n";
  text += "          command: [" +
          (hook ? std::string("\"warpmark\", \"optimize\", \"--apply\", \"plan.yaml\", \"--\", ") : std::string()) +
          words + "]\n";
  if (!variables.empty()) text += "          env:\n" + variables;
  if (journey.device != "cpu") text += "          resources: {limits: {nvidia.com/gpu: 1}}\n";
  return text;
}

}  // namespace warpmark::optimize
