#include "profile/module/capture.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace warpmark::profile::module {
namespace {

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kPatience = std::chrono::seconds(1);

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

std::int64_t number_of(const char* variable) { return std::atoll(text_of(variable).c_str()); }

}  // namespace

Capture& Capture::instance() {
  static Capture* capture = new Capture;  // programs may end a range in a destructor
  return *capture;
}

Capture::Capture()
    : Capture(text_of("WARPMARK_RECORD_RANGE"), number_of("WARPMARK_RECORD_WARMUP_STEPS"),
              number_of("WARPMARK_RECORD_STEPS")) {}

Capture::Capture(std::string name, std::int64_t skipped, std::int64_t wanted)
    : name_(std::move(name)), skipped_(skipped), wanted_(std::max<std::int64_t>(1, wanted)) {}

void Capture::begins() {
  std::unique_lock lock(mutex_);
  if (++depth_ > 1 || ended_.load() || ++seen_ <= skipped_ || begun_.load()) return;
  begun_.store(true, std::memory_order_release);
  is_news_ = true;
  news_.notify_all();
  if (is_served_) answered_.wait_for(lock, kPatience, [this] { return is_answered_; });
}

void Capture::ends() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0 || --depth_ > 0 || seen_ < skipped_ + wanted_ || !begun_.load()) return;
  ended_.store(true, std::memory_order_release);
  is_news_ = true;
  news_.notify_all();
}

void Capture::serve() {
  const std::lock_guard lock(mutex_);
  is_served_ = true;
}

void Capture::wait_for_news() {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, kTick, [this] { return is_news_; });
  is_news_ = false;
}

void Capture::answer() {
  const std::lock_guard lock(mutex_);
  is_answered_ = true;
  answered_.notify_all();
}

}  // namespace warpmark::profile::module
