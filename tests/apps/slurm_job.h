// A stand-in for Slurm: a program srun that takes Slurm's words and starts the tasks by mpirun, as Slurm would show
// them.
#pragma once

#include <filesystem>
#include <string>

#include "base/files.h"

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

/// What stands before a command of a shell within a job, where `folder` has that srun.
inline std::string in_slurm_job(const std::filesystem::path& folder) {
  return "PATH=\"" + folder.string() + ":$PATH\" SLURM_JOB_ID=7 ";
}

}  // namespace warpmark::apps
