// What is said of a recording, in the words and with the tools of the vendor of its GPUs.
#pragma once

#include "model/analysis.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Replaces CUDA's words and NVIDIA's commands in the verdict, findings and what is missing; what the vendor's tools do
/// not record is no longer missing.
void use_words_of_vendor(const ProfileSession& session, Analysis& analysis);

}  // namespace warpmark::analyze
