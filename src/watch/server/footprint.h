// The memory of a program that serves for weeks: what only its start needed goes back to the system.
#pragma once

namespace warpmark::watch {

/// Lets go the pages of code and constants that this process has mapped from its executable and libraries, and what
/// malloc holds and nobody uses. What is touched again comes back from the page cache, some milliseconds in all; the
/// rest (relocating, option tables, the initialization of libraries that nobody calls) stays away. Thread safe.
void give_back_unused();

}  // namespace warpmark::watch
