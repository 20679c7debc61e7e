// A host whose clock is wrong, for tests of aligned clocks: preloaded, it shows processes of one MPI rank the date by
// WARPMARK_TEST_SHIFT_NS beside what it is. The rank is WARPMARK_TEST_SHIFT_RANK.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <cstring>

namespace {

long long shift_ns() {
  const char* mine = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* wrong = std::getenv("WARPMARK_TEST_SHIFT_RANK");
  const char* shift = std::getenv("WARPMARK_TEST_SHIFT_NS");
  if (mine == nullptr || wrong == nullptr || shift == nullptr || std::strcmp(mine, wrong) != 0) return 0;
  return std::atoll(shift);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  const long long shifted = time->tv_sec * 1'000'000'000LL + time->tv_nsec + shift_ns();
  time->tv_sec = shifted / 1'000'000'000LL;
  time->tv_nsec = shifted % 1'000'000'000LL;
  return 0;
}
