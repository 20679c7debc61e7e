#include "profile/module/ranges.h"

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "profile/module/unix_clock.h"

namespace warpmark::profile::module {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 18;  // between two drains; a forked child has none
constexpr std::size_t kMostNames = 256;                  // of outermost ranges that are counted

struct OpenRange {
  const void* domain;
  std::int64_t start_ns;  ///< 0 for those that began while nothing was recorded
  std::string name;
};

std::vector<OpenRange>& open_ranges() {
  thread_local std::vector<OpenRange> ranges;
  return ranges;
}

/// "step 12" and "step 13" are one name.
std::string without_digits(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c < '0' || c > '9') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

bool names_step(const std::string& name) {
  return name.find("step") != std::string::npos || name.find("iter") != std::string::npos;
}

/// XLA encloses what it knows of a range in its name, "XlaPass:#name=fusion,module=jit_f#"
/// (tsl/profiler/lib/traceme_encode.h): hundreds while it compiles, which are no steps. JAX's StepTraceAnnotation is
/// "train#step_num=3#".
bool is_of_compiler(const std::string& name) {
  return name.ends_with('#') && name.find("step_num=") == std::string::npos;
}

}  // namespace

RangeLog& RangeLog::instance() {
  static RangeLog* log = new RangeLog;  // programs may end a range in a destructor
  return *log;
}

int RangeLog::push(const void* domain, const char* name) {
  auto& ranges = open_ranges();
  Capture& capture = Capture::instance();
  if (capture.is_on() && name != nullptr && capture.is_called(name)) capture.begins();  // it is to be recorded itself
  ranges.push_back({domain, recording() ? unix_ns() : 0, wants_names() && name != nullptr ? name : ""});
  return static_cast<int>(ranges.size()) - 1;
}

int RangeLog::pop(const void* domain) {
  auto& ranges = open_ranges();
  for (std::size_t i = ranges.size(); i-- > 0;) {
    if (ranges[i].domain != domain) continue;
    OpenRange range = std::move(ranges[i]);
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
    if (ranges.empty() && counting_.load(std::memory_order_relaxed)) count(range.name);
    const bool ends_part = Capture::instance().is_called(range.name);
    if (range.start_ns != 0 && recording()) keep({range.start_ns, unix_ns(), 0, std::move(range.name)});
    if (ends_part) Capture::instance().ends();
    return static_cast<int>(i);
  }
  return -1;
}

std::uint64_t RangeLog::start(const char* name) {
  const std::uint64_t id = ids_.fetch_add(1) + 1;
  if (name != nullptr && Capture::instance().is_called(name)) {
    Capture::instance().begins();
    const std::lock_guard lock(mutex_);
    captured_.insert(id);
  }
  if (!recording()) return id;
  const std::lock_guard lock(mutex_);
  if (open_.size() < kMostKept) open_[id] = {unix_ns(), 0, 0, name != nullptr ? name : ""};
  return id;
}

void RangeLog::end(std::uint64_t id) {
  NamedRange range;
  bool is_open = false, ends_part = false;
  {
    const std::lock_guard lock(mutex_);
    ends_part = captured_.erase(id) > 0;
    const auto found = open_.find(id);
    is_open = found != open_.end();
    if (is_open) {
      range = std::move(found->second);
      open_.erase(found);
    }
  }
  range.end_ns = unix_ns();
  if (is_open && recording()) keep(std::move(range));
  if (ends_part) Capture::instance().ends();
}

void RangeLog::mark(const char* name) {
  if (!recording() || Capture::instance().has_ended()) return;
  const std::int64_t now = unix_ns();
  keep({now, now, 0, name != nullptr ? name : ""});
}

void RangeLog::keep(NamedRange range) {
  if (Capture::instance().has_ended()) return;
  range.thread = syscall(SYS_gettid);
  const std::lock_guard lock(mutex_);
  if (ended_.size() >= kMostKept) {
    lost_.fetch_add(1);
    return;
  }
  ended_.push_back(std::move(range));
}

void RangeLog::count(const std::string& name) {
  if (name.empty() || is_of_compiler(name)) return;
  std::string plain = without_digits(name);
  const std::lock_guard lock(mutex_);
  if (counts_.size() < kMostNames || counts_.contains(plain)) ++counts_[std::move(plain)];
}

std::int64_t RangeLog::steps(bool called_so) {
  std::int64_t named = 0, commonest = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, number] : counts_) {
    if (names_step(name)) named = std::max(named, number);
    commonest = std::max(commonest, number);
  }
  return named > 0 || called_so ? named : commonest;
}

std::vector<NamedRange> RangeLog::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

namespace {

std::string narrow(const wchar_t* text) {
  std::string narrow;
  for (; text != nullptr && *text != L'\0'; ++text) narrow += *text < 128 ? static_cast<char>(*text) : '?';
  return narrow;
}

/// Kept for the life of the program, as NVTX's handles are.
char* keep_text(const std::string& text) { return strdup(text.c_str()); }

/// Empty also while nobody reads it: a program may name millions of ranges.
std::string message_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr || !RangeLog::instance().wants_names()) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return attributes->message.ascii != nullptr ? attributes->message.ascii : "";
    case NVTX_MESSAGE_TYPE_UNICODE: return narrow(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* text = reinterpret_cast<const char*>(attributes->message.registered);
      return text != nullptr ? text : "";
    }
    default: return {};
  }
}

RangeLog& log() { return RangeLog::instance(); }

int push_ascii(const char* text) { return log().push(nullptr, text); }
int push_wide(const wchar_t* text) { return log().push(nullptr, log().wants_names() ? narrow(text).c_str() : nullptr); }
int push_message(const nvtxEventAttributes_t* event) { return log().push(nullptr, message_of(event).c_str()); }
int pop_range() { return log().pop(nullptr); }
nvtxRangeId_t start_ascii(const char* text) { return log().start(text); }
nvtxRangeId_t start_message(const nvtxEventAttributes_t* event) { return log().start(message_of(event).c_str()); }
void end_range(nvtxRangeId_t id) { log().end(id); }
void mark_ascii(const char* text) { log().mark(text); }
void mark_message(const nvtxEventAttributes_t* event) { log().mark(message_of(event).c_str()); }

int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return log().push(domain, message_of(event).c_str());
}
int domain_pop(nvtxDomainHandle_t domain) { return log().pop(domain); }
nvtxRangeId_t domain_start(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  return start_message(event);
}
void domain_end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id) { log().end(id); }
void domain_mark(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) { mark_message(event); }
nvtxDomainHandle_t domain_create(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(keep_text(name != nullptr ? name : ""));
}
nvtxStringHandle_t register_ascii(nvtxDomainHandle_t /*domain*/, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(keep_text(text != nullptr ? text : ""));
}
nvtxStringHandle_t register_wide(nvtxDomainHandle_t /*domain*/, const wchar_t* text) {
  return reinterpret_cast<nvtxStringHandle_t>(keep_text(narrow(text)));
}

struct Replacement {
  unsigned id;
  NvtxFunctionPointer function;
};

template <typename Function>
Replacement replaced(unsigned id, Function* function) {
  return {id, reinterpret_cast<NvtxFunctionPointer>(function)};
}

template <std::size_t count>
void replace(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule part, const Replacement (&list)[count]) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(part, &table, &size) != 1 || table == nullptr) return;
  for (const auto& one : list) {
    if (one.id < size) *table[one.id] = one.function;
  }
}

}  // namespace
}  // namespace warpmark::profile::module

/// 1 if the functions were taken over.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  using namespace warpmark::profile::module;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return 0;
  const Replacement core[] = {
      replaced(NVTX_CBID_CORE_MarkEx, mark_message),        replaced(NVTX_CBID_CORE_MarkA, mark_ascii),
      replaced(NVTX_CBID_CORE_RangeStartEx, start_message), replaced(NVTX_CBID_CORE_RangeStartA, start_ascii),
      replaced(NVTX_CBID_CORE_RangeEnd, end_range),         replaced(NVTX_CBID_CORE_RangePushEx, push_message),
      replaced(NVTX_CBID_CORE_RangePushA, push_ascii),      replaced(NVTX_CBID_CORE_RangePushW, push_wide),
      replaced(NVTX_CBID_CORE_RangePop, pop_range),
  };
  const Replacement domains[] = {
      replaced(NVTX_CBID_CORE2_DomainMarkEx, domain_mark),
      replaced(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start),
      replaced(NVTX_CBID_CORE2_DomainRangeEnd, domain_end),
      replaced(NVTX_CBID_CORE2_DomainRangePushEx, domain_push),
      replaced(NVTX_CBID_CORE2_DomainRangePop, domain_pop),
      replaced(NVTX_CBID_CORE2_DomainRegisterStringA, register_ascii),
      replaced(NVTX_CBID_CORE2_DomainRegisterStringW, register_wide),
      replaced(NVTX_CBID_CORE2_DomainCreateA, domain_create),
  };
  replace(*callbacks, NVTX_CB_MODULE_CORE, core);
  replace(*callbacks, NVTX_CB_MODULE_CORE2, domains);
  return 1;
}

/// For ranges that are no NVTX's: PyTorch's record_function, which the Python hook passes on.
extern "C" __attribute__((visibility("default"))) void warpmark_range_push(const char* name) {
  (void)warpmark::profile::module::RangeLog::instance().push(reinterpret_cast<const void*>(&warpmark_range_push), name);
}
extern "C" __attribute__((visibility("default"))) void warpmark_range_pop() {
  (void)warpmark::profile::module::RangeLog::instance().pop(reinterpret_cast<const void*>(&warpmark_range_push));
}

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
