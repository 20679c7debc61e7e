// What to do, in the words of what the program is written with.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// One fix, with a snippet for each framework that knows it; null where it does not.
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

/// "batch_size *= 24", and the remark as a comment behind it.
[[nodiscard]] std::string batch_snippet(const Evidence& evidence, int times, std::string_view remark);

// Advice that more than one rule gives.
/// What the program's GPU multiplies on its tensor cores (names/matrix_units.h). Words of training where it trains.
[[nodiscard]] Advice compute_in_16_bits(const Evidence& evidence);
[[nodiscard]] bool has_bf16(const Evidence& evidence);
extern const Advice kSendFewerBytes;
extern const Advice kFixGraphBreaks;  ///< of programs that are compiled

}  // namespace warpmark::analyze
