// Two writers and a reader on one store for a while: store_soak LOCATION SECONDS. LOCATION is a file that is not there
// yet or the URL of an empty PostgreSQL database. Ends with 1 if a row that was acknowledged is not there, or is not
// what was written.
#include <cstdio>

#include "arguments.h"
#include "store/location.h"
#include "store/soak.h"

int main(int count, char** words) {
  const char* usage = "store_soak FILE|URL SECONDS   two writers and a reader on a store that is empty";
  if (const auto code = warpmark::bench::end_with_usage(count, words, usage, 2, 2)) return *code;
  const auto whole_seconds = warpmark::bench::count_at(2, count, words, 1);
  if (!whole_seconds) return 2;
  const auto seconds = static_cast<double>(*whole_seconds);
  const auto result = warpmark::store::soak(words[1], seconds, 1000);
  std::printf("%s, two writers and a reader for %g s\n", warpmark::store::hide_password(words[1]).c_str(), seconds);
  std::printf("  acknowledged %lld runs (%.1f/s), found %lld, reads %lld\n",
              static_cast<long long>(result.acknowledged), static_cast<double>(result.acknowledged) / seconds,
              static_cast<long long>(result.found), static_cast<long long>(result.reads));
  std::printf("  %s\n", result.problem.empty() ? "no problem" : result.problem.c_str());
  return result.problem.empty() && result.found == result.acknowledged ? 0 : 1;
}
