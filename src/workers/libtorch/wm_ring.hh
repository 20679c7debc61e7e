// What the worker tells while it runs: records in memory that it shares with warpmark, and why it refuses.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

constexpr int64_t kProtocol = 1;

inline int64_t clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/// kind is one of warpmark's kinds of errors.
struct Refused {
  std::string kind, what, hint;
};

struct Ring {
  enum Kind : int64_t { step = 0, loss = 1, whole = 2, first_phase = 8 };
  explicit Ring(int fd) {
    struct stat about {};
    if (fstat(fd, &about) != 0) std::abort();
    size = static_cast<size_t>(about.st_size);
    memory = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (memory == MAP_FAILED) std::abort();
  }
  void reset() {
    count = 0;
    put(0, kProtocol);
    put(8, 0);
  }
  void note(int64_t kind, int64_t number, int64_t time_ns, double value = 0) {
    const size_t at = 16 + static_cast<size_t>(count) * 32;
    if (at + 32 > size) throw std::runtime_error("the ring of records is full");
    put(at, kind);
    put(at + 8, number);
    put(at + 16, time_ns);
    std::memcpy(memory + at + 24, &value, 8);
    put(8, ++count);
  }
  void put(size_t at, int64_t value) { std::memcpy(memory + at, &value, 8); }
  char* memory;
  size_t size;
  int64_t count = 0;
};
