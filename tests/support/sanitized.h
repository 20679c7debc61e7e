// What a sanitizer changes for a test.
#pragma once

#include <algorithm>

// Each sanitizer's library has its own; a program without them has neither.
extern "C" void __asan_init() __attribute__((weak));
extern "C" void __tsan_init() __attribute__((weak));

namespace warpmark::testing_support {

inline bool sanitized() { return &__asan_init != nullptr || &__tsan_init != nullptr; }

/// Trials of a simulation that counts how often something happens: `wanted` of them, and under a sanitizer an eighth,
/// at least 25. What is looked for there are errors that any trial shows; the frequency is counted by the same test of
/// the release build. Bounds must follow from the number of trials.
inline int trials(int wanted) { return sanitized() ? std::min(wanted, std::max(wanted / 8, 25)) : wanted; }

}  // namespace warpmark::testing_support
