#include "warpmark/profiles/recorder.h"

#include <string>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "workers/hooked_program.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// Where a Python on PATH keeps its packages: CUPTI comes with PyTorch's there.
std::vector<std::string> python_folders() {
  const auto found =
      run_process({"python3", "-c", "import site, sys; print('\\n'.join(site.getsitepackages() + sys.path))"});
  if (!found.ok() || found->exit_code != 0) return {};
  auto folders = split(found->out, '\n');
  std::erase(folders, "");
  return folders;
}

}  // namespace

Status find_recorder(Context& context, profile::RecordOptions& record) {
  WM_ASSIGN(const auto self, own_executable());
  WM_ASSIGN(record.library, profile::find_inject_library(self, context.environment("WARPMARK_INJECT_LIBRARY")));
  return find_cupti(context, record);
}

Status find_cupti(Context& context, profile::RecordOptions& record) {
  std::error_code ignored;
  const char* named = context.environment("WARPMARK_CUPTI");
  if (named != nullptr && *named != '\0' && !fs::exists(named, ignored)) {
    return environment_error("WARPMARK_CUPTI names " + std::string(named) + ", which does not exist",
                             "unset it to have CUPTI looked for, or name a libcupti.so");
  }
  record.cupti = named != nullptr ? named : profile::find_cupti("/", python_folders());
  return {};
}

StacksFolder::~StacksFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Status StacksFolder::prepare(Context& context, profile::RecordOptions& record, bool samples) {
  path_ = fs::absolute(record.out.string() + ".stacks");
  const fs::path hook = path_ / "hook";
  WM_TRY(workers::write_hook(hook));
  const char* python_path = context.environment("PYTHONPATH");
  record.environment = workers::stack_variables(hook, samples ? path_ : fs::path(), python_path);
  if (samples) record.stacks = path_;
  return {};
}

}  // namespace warpmark::apps
