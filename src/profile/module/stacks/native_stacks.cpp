#include "profile/module/stacks/native_stacks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "profile/module/unix_clock.h"

namespace warpmark::profile::module {
namespace {

constexpr double kMostShare = 0.01;              // of a thread's time
constexpr std::int64_t kMostSaved = 300'000;     // ns that a thread may spend at once after a pause
constexpr std::int64_t kKeptForWaits = 100'000;  // which launches do not take
constexpr std::int64_t kAtFirst = 150'000;
constexpr std::int64_t kBetweenLaunches = 1'000'000;
constexpr std::size_t kMostSamples = std::size_t{1} << 16;  // between two drains

/// Of one thread.
struct Allowance {
  std::int64_t since_ns = 0;  ///< it was last reckoned
  std::int64_t left_ns = kAtFirst;
  std::int64_t polled_ns = 0;
};

Allowance& allowance() {
  thread_local Allowance own;
  return own;
}

struct Unwound {
  std::uintptr_t* addresses;
  std::size_t depth;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* state) {
  auto& unwound = *static_cast<Unwound*>(state);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || unwound.depth == NativeStacks::kMostDepth) return _URC_END_OF_STACK;
  unwound.addresses[unwound.depth++] = address;
  return _URC_NO_REASON;
}

/// A file's name as a JSON text: what is no printable ASCII is left out of what nobody could open then.
std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) all += c;
  }
  return all + "\"";
}

bool begins(const std::string& path, const char* name) {
  const auto slash = path.rfind('/');
  return path.compare(slash == std::string::npos ? 0 : slash + 1, std::string::traits_type::length(name), name) == 0;
}

}  // namespace

void NativeStacks::prepare(const void* cupti) {
  const char* folder = std::getenv("WARPMARK_STACKS");
  if (folder == nullptr || *folder == '\0' || dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return;
  path_ = std::string(folder) + "/" + std::to_string(getpid()) + ".jsonl";
  cupti_ = reinterpret_cast<std::uintptr_t>(cupti);
}

void NativeStacks::begin(bool keep) {
  if (path_.empty()) return;
  keep_.store(keep);
  if (keep) {
    {
      const std::lock_guard lock(mutex_);
      samples_.clear();
    }
    if (file_ == nullptr) file_ = std::fopen(path_.c_str(), "we");
    modules_written_ = 0;
    modules_.clear();
    frames_.clear();
    stacks_.clear();
    if (file_ != nullptr) std::fputs("{\"k\":\"begin\",\"period\":0.001,\"native\":1}\n", file_);
  }
  on_.store(true);
}

void NativeStacks::end() {
  on_.store(false);
  drain();
  if (file_ != nullptr) std::fflush(file_);
}

bool NativeStacks::enters(bool launches, std::int64_t now_ns) {
  if (!on_.load(std::memory_order_relaxed)) return false;
  Allowance& own = allowance();
  const auto earned = static_cast<std::int64_t>(static_cast<double>(now_ns - own.since_ns) * kMostShare);
  if (own.since_ns > 0) own.left_ns = std::min(kMostSaved, own.left_ns + std::max<std::int64_t>(0, earned));
  own.since_ns = now_ns;
  if (own.left_ns <= (launches ? kKeptForWaits : 0)) return false;
  if (launches && now_ns - own.polled_ns < kBetweenLaunches) return false;
  own.polled_ns = now_ns;
  Sample sample{.time_ns = now_ns, .thread = syscall(SYS_gettid)};
  Unwound unwound{sample.addresses.data(), 0};
  _Unwind_Backtrace(take_frame, &unwound);
  sample.depth = unwound.depth;
  add(sample);
  own.left_ns -= unix_ns() - now_ns;
  return true;
}

void NativeStacks::leaves(std::int64_t now_ns) { add({.time_ns = now_ns, .thread = syscall(SYS_gettid)}); }

void NativeStacks::add(const Sample& sample) {
  if (!keep_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (samples_.size() < kMostSamples) samples_.push_back(sample);
}

void NativeStacks::drain() {
  if (path_.empty()) return;
  std::vector<Sample> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(samples_);
  }
  if (file_ == nullptr) return;
  for (const Sample& sample : taken) write(sample);
}

void NativeStacks::write(const Sample& sample) {
  std::vector<std::int64_t> numbers;
  bool outside = false;  // of the recorder, CUPTI and CUDA, which stand innermost
  for (std::size_t i = 0; i < sample.depth; ++i) {
    const Module* module = module_of(sample.addresses[i]);
    outside = outside || (module != nullptr && !module->of_recorder);
    if (outside) numbers.push_back(frame(sample.addresses[i]));
  }
  const auto [stack, is_new] = stacks_.try_emplace(numbers, static_cast<std::int64_t>(stacks_.size()));
  if (is_new) {
    std::fprintf(file_, "{\"k\":\"s\",\"i\":%" PRId64 ",\"f\":[", stack->second);
    for (std::size_t i = 0; i < numbers.size(); ++i) std::fprintf(file_, i == 0 ? "%" PRId64 : ",%" PRId64, numbers[i]);
    std::fputs("]}\n", file_);
  }
  std::fprintf(file_, "{\"k\":\"t\",\"t\":%" PRId64 ",\"th\":%" PRId64 ",\"s\":%" PRId64 "}\n", sample.time_ns,
               sample.thread, stack->second);
}

std::int64_t NativeStacks::frame(std::uintptr_t address) {
  const auto [known, is_new] = frames_.try_emplace(address, static_cast<std::int64_t>(frames_.size()));
  if (!is_new) return known->second;
  const Module* module = module_of(address);
  // An address is where a call returns to: the call is the byte before.
  std::fprintf(file_, "{\"k\":\"a\",\"i\":%" PRId64 ",\"m\":%d,\"o\":%" PRIuPTR "}\n", known->second,
               module == nullptr ? -1 : module->number, module == nullptr ? address : address - 1 - module->base);
  return known->second;
}

const NativeStacks::Module* NativeStacks::module_of(std::uintptr_t address) {
  const auto find = [&]() -> Module* {
    const auto found = std::find_if(modules_.begin(), modules_.end(), [address](const Module& module) {
      return address >= module.begin && address < module.end;
    });
    return found == modules_.end() ? nullptr : &*found;
  };
  Module* module = find();
  if (module == nullptr) {
    list_modules();  // it was loaded meanwhile
    module = find();
  }
  if (module != nullptr && module->number < 0) {
    module->number = modules_written_++;
    std::fprintf(file_, "{\"k\":\"m\",\"i\":%d,\"path\":%s}\n", module->number, quoted(module->path).c_str());
  }
  return module;
}

void NativeStacks::list_modules() {
  const auto visit = [](dl_phdr_info* info, std::size_t /*size*/, void* list) {
    auto& modules = *static_cast<std::vector<Module>*>(list);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      Module module;
      module.base = info->dlpi_addr;
      module.begin = info->dlpi_addr + segment.p_vaddr;
      module.end = module.begin + segment.p_memsz;
      module.path = info->dlpi_name != nullptr ? info->dlpi_name : "";
      if (std::none_of(modules.begin(), modules.end(), [&](const Module& one) { return one.begin == module.begin; })) {
        modules.push_back(std::move(module));
      }
    }
    return 0;
  };
  const std::size_t known = modules_.size();
  dl_iterate_phdr(visit, &modules_);
  const auto own = reinterpret_cast<std::uintptr_t>(&allowance);
  for (std::size_t i = known; i < modules_.size(); ++i) {
    Module& module = modules_[i];
    const auto holds = [&module](std::uintptr_t address) { return address >= module.begin && address < module.end; };
    module.of_recorder = holds(own) || holds(cupti_) || begins(module.path, "libcuda.so") ||
                         begins(module.path, "libcudart.so") || begins(module.path, "libgcc_s.so");
    if (!module.path.empty()) continue;  // the program itself has no name there
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length > 0) module.path.assign(path.data(), static_cast<std::size_t>(length));
  }
}

StackSignal::~StackSignal() {
  if (pipe_ >= 0) close(pipe_);
}

void StackSignal::notify(StackPhase phase) {
  const char* folder = std::getenv("WARPMARK_STACKS");
  if (folder == nullptr || *folder == '\0') return;
  if (pipe_ < 0) {
    const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".fifo";
    // Read and write: a pipe without a reader would end the program with SIGPIPE.
    pipe_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  const char letter = static_cast<char>(phase);
  if (pipe_ >= 0 && write(pipe_, &letter, 1) < 0) return;  // full: nobody reads, nothing is lost but stacks
}

}  // namespace warpmark::profile::module
