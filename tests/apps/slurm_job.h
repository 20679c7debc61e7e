// A stand-in for Slurm: a program srun that takes Slurm's words and starts the tasks by mpirun, as Slurm would show
// them.
#pragma once

#include <filesystem>
#include <string>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/subprocess.h"

namespace warpmark::apps {

/// Its words are kept beside it, in srun.words.
inline constexpr const char* kSrun = R"(#!/bin/sh
printf '%s ' "$@" > "$0.words"
tasks=1
while [ $# -gt 0 ]; do
  case "$1" in
    -n) tasks=$2; shift 2 ;;
    --*) shift ;;
    *) break ;;
  esac
done
exec mpirun --allow-run-as-root --oversubscribe -n "$tasks" env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS="$tasks" "$@"
)";

inline Status make_srun(const std::filesystem::path& folder) {
  const Status written = write_file(folder / "srun", kSrun);
  std::error_code ignored;
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all, ignored);
  return written;
}

/// warpmark within a job, where `folder` has that srun; not within a step of the job that these tests may run in.
inline ProcessOutput run_in_slurm_job(const std::filesystem::path& folder, const std::string& words) {
  const auto output = run_process({"sh", "-c",
                                   "unset SLURM_STEP_ID SLURM_PROCID; PATH=\"" + folder.string() +
                                       ":$PATH\" SLURM_JOB_ID=7 " + in_quotes(kExecutable) + " " + words},
                                  {.deadline_s = 100});
  EXPECT_TRUE(output.ok());
  return output.ok() ? *output : ProcessOutput{};
}

}  // namespace warpmark::apps
