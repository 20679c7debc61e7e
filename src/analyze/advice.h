// What to do, in the words of what the program is written with. A recording tells that by the names in it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "model/profile_session.h"

namespace warpmark::analyze {

struct Evidence;
struct RankEvidence;

enum class Framework : std::uint8_t {
  other,   ///< none of these, or nothing was recorded that tells: advice without a snippet
  native,  ///< CUDA C++ and its libraries
  pytorch,
  jax,
  cupy,
};

/// Of the program that was recorded: by kernels, operators and ranges of a framework, or that it ran in Python; a
/// timeline with neither is a native program's. O(names), not O(events).
[[nodiscard]] Framework framework_of(const ProfileSession& session);

/// Whether TorchInductor generated kernels of it. O(names).
[[nodiscard]] bool is_compiled(const ProfileSession& session);

/// One cure, with a snippet for each framework that knows it; null where it does not.
struct Advice {
  AdviceKind kind = AdviceKind::code;
  const char* text = "";
  const char* native = nullptr;
  const char* pytorch = nullptr;
  const char* jax = nullptr;
  const char* cupy = nullptr;  ///< null: as of other frameworks
};

/// Those of them that the program's framework knows, in this order. For other frameworks those that native programs
/// know, without snippets that are code; for CuPy, which stands close to CUDA, these too.
[[nodiscard]] std::vector<Recommendation> advice_for(const Evidence& evidence, std::initializer_list<Advice> all);
/// Appends.
void advise(const Evidence& evidence, std::initializer_list<Advice> all, Finding& finding);

/// Whether it has a loss and an optimizer: by ranges, names, or kernels that update parameters.
[[nodiscard]] bool trains(const RankEvidence& rank);

/// "batch_size *= 24", and the remark as a comment behind it.
[[nodiscard]] std::string batch_snippet(const Evidence& evidence, int times, std::string_view remark);

// Advice that more than one rule gives.
extern const Advice kComputeIn16Bits;
extern const Advice kSendFewerBytes;
extern const Advice kMendGraphBreaks;  ///< of programs that are compiled

}  // namespace warpmark::analyze
