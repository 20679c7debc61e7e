#include "warpmark/sessions/build_info.h"

#include "device/device.h"
#include "generated/version.h"
#include "workloads/cpu_libraries.h"

namespace warpmark::apps {

Build build_info() {
  Build build;
  build.version = generated::kVersion;
  build.git_sha = generated::kGitSha;
  build.git_dirty = generated::kGitDirty;
  build.compiler = generated::kCompiler;
  build.type = generated::kBuildType;
  build.features = workloads::cpu_libraries();
  build.features.emplace_back(WARPMARK_CUDA_MODULE);
  return build;
}

}  // namespace warpmark::apps
