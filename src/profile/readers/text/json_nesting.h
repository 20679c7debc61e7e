// Reading nested JSON character by character: the whole of it where there are no vectors, what is rare where there are.
#pragma once

namespace warpmark::profile {

/// Where skip_nested is within the text.
struct Nesting {
  int depth = 1;
  bool in_string = false;
};

/// Reads single characters from `p` up to `limit` (a little further if that is within an escape). Returns where it
/// stopped; `done` if that is behind the closing bracket, `broken` at a line break in a string.
inline const char* step(const char* p, const char* limit, Nesting& nesting, bool& done, bool& broken) {
  for (; p < limit; ++p) {
    const char c = *p;
    if (nesting.in_string) {
      if (c == '\\') ++p;
      if (c == '"') nesting.in_string = false;
      if (c == '\n') return broken = true, p;
    } else if (c == '"') {
      nesting.in_string = true;
    } else if (c == '[' || c == '{') {
      ++nesting.depth;
    } else if (c == ']' || c == '}') {
      if (--nesting.depth == 0) return done = true, p + 1;
    }
  }
  return p;
}

}  // namespace warpmark::profile
