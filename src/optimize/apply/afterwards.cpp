#include "optimize/apply/afterwards.h"

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"

namespace warpmark::optimize {

namespace fs = std::filesystem;

Result<Json> do_afterwards(const Afterwards& afterwards, const workers::HookedCommand& command,
                           const std::string& printed) {
  std::string said = printed;
  Json codes = Json::array();
  for (const auto& words : afterwards.commands) {
    WM_ASSIGN(const auto output, run_process(words, {.deadline_s = command.deadline_s,
                                                     .directory = command.directory,
                                                     .environment = command.environment,
                                                     .own_group = true,
                                                     .interrupted = command.interrupted}));
    said += "\n" + output.out;
    codes.push_back(output.exit_code);
  }
  constexpr std::size_t kMostKept = 1 << 20;
  Json json{{"said", said.size() <= kMostKept ? said : said.substr(said.size() - kMostKept)}, {"codes", codes}};
  if (!afterwards.file.empty()) {
    constexpr std::int64_t kLargestAnswers = 64 << 20;
    const auto path = fs::path(command.directory) / afterwards.file;
    const auto text = read_file(path, kLargestAnswers);
    json["file"] = text.ok() ? *text : "";
  }
  return json;
}

}  // namespace warpmark::optimize
