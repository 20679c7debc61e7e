// The C++ interface of warpmark: measuring, comparing, analyzing, results, watching. docs/library.md has a
// walk-through, examples/library a program. Versions are semantic; before 1.0 a program runs with libraries of the same
// minor version.
#pragma once

#include <warpmark/compare.hpp>
#include <warpmark/measure.hpp>
#include <warpmark/profiles.hpp>
#include <warpmark/result.hpp>
#include <warpmark/results.hpp>
#include <warpmark/version.hpp>
#include <warpmark/watch.hpp>

namespace warpmark {
using namespace v0;
}  // namespace warpmark
