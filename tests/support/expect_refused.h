// What a parser says of text that it must refuse.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/result.h"

namespace warpmark::testing_support {

/// `parsed` is a data error, and `part` is in what it says or in its hint.
template <typename T>
void expect_refused(const Result<T>& parsed, const std::string& part) {
  ASSERT_FALSE(parsed.ok()) << "not refused: " << part;
  EXPECT_EQ(parsed.error().kind, ErrorKind::data);
  const std::string said = parsed.error().what + " | " + parsed.error().hint;
  EXPECT_NE(said.find(part), std::string::npos) << said << "\n  has no: " << part;
}

}  // namespace warpmark::testing_support
