#include "workers/model_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "generated/python_hook.h"
#include "generated/python_models.h"

namespace warpmark::workers {
namespace {

constexpr std::size_t kRingBytes = 4 << 20;
constexpr std::size_t kRingHead = 16;
constexpr std::size_t kLongestAnswer = 16 << 20;
constexpr int kChildSocket = 3;
constexpr int kChildMemory = 4;
static_assert(sizeof(RingRecord) == 32);

ErrorKind refused_kind(const std::string& name) {
  if (name == "unsupported") return ErrorKind::unsupported;
  if (name == "environment") return ErrorKind::environment;
  return name == "internal" ? ErrorKind::internal : ErrorKind::data;
}

/// Text of an answer's field; empty where it has none.
std::string text_of(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

struct Descriptors {
  std::array<int, 2> pair{-1, -1};
  int memory = -1;
  int printed = -1;
  int nothing = -1;
  ~Descriptors() {
    for (const int fd : {pair[1], memory, printed, nothing}) {
      if (fd >= 0) ::close(fd);
    }
  }
};

/// What NAME=VALUE says, after the descriptors.
std::vector<std::pair<std::string, std::string>> variables_of(const ModelWorker::Options& options) {
  std::vector<std::pair<std::string, std::string>> variables{
      {"WARPMARK_WORKER_FDS", fmt::format("{},{}", kChildSocket, kChildMemory)}};
  for (const auto& text : options.variables) {
    const auto equals = text.find('=');
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

Status write_model_worker(const std::filesystem::path& folder) {
  WM_TRY(make_folder(folder));
  for (const auto& file : generated::kPythonModels) WM_TRY(write_file(folder / std::string(file.name), file.text));
  for (const auto& file : generated::kPythonHook) {
    if (file.name.starts_with("_warpmark_")) WM_TRY(write_file(folder / std::string(file.name), file.text));
  }
  return {};
}

Result<std::unique_ptr<ModelWorker>> ModelWorker::start(const Options& options) {
  const auto failed = [&](const char* what) {
    return environment_error(fmt::format("cannot start {}: {}: {}", options.words.front(), what, std::strerror(errno)));
  };
  Descriptors open;
  std::unique_ptr<ModelWorker> worker(new ModelWorker());
  worker->options_ = options;
  // Above the child's numbers, so that one dup2 does not close what the next one needs.
  const auto above = [](int fd) {
    const int moved = fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
    if (fd >= 0) ::close(fd);
    return moved;
  };
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, open.pair.data()) != 0) return failed("socket pair");
  worker->socket_ = open.pair[0];
  open.pair[1] = above(open.pair[1]);
  open.memory = above(::memfd_create("warpmark-worker", MFD_CLOEXEC));
  if (open.memory < 0 || ::ftruncate(open.memory, kRingBytes) != 0) return failed("shared memory");
  void* memory = ::mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, open.memory, 0);
  if (memory == MAP_FAILED) return failed("shared memory");
  worker->memory_ = memory;
  open.printed = above(::open(options.printed.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  open.nothing = above(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (open.printed < 0 || open.pair[1] < 0 || open.nothing < 0) return failed("files");
  auto process = Reaped::start(options.words, {.descriptors = {{open.nothing, STDIN_FILENO},
                                                               {open.printed, STDOUT_FILENO},
                                                               {open.printed, STDERR_FILENO},
                                                               {open.pair[1], kChildSocket},
                                                               {open.memory, kChildMemory}},
                                               .environment = variables_of(options)});
  if (!process.ok()) {
    return environment_error(process.error().what, "name a Python 3 with PyTorch: --set python=/path/to/python3");
  }
  worker->process_ = std::move(*process);
  return worker;
}

ModelWorker::~ModelWorker() {
  if (socket_ >= 0) ::close(socket_);
  process_.reset();
  if (memory_ != nullptr) ::munmap(memory_, kRingBytes);
}

std::string ModelWorker::crash_message() const {
  const auto text = read_file(options_.printed, 64 << 20);
  constexpr std::size_t kTail = 400;
  if (!text.ok() || text->empty()) return "it printed nothing";
  return "it printed last: " + text->substr(text->size() > kTail ? text->size() - kTail : 0);
}

Error ModelWorker::gone(const std::string& asked) {
  const std::int64_t last = monotonic_ns() + 2'000'000'000;
  std::optional<ProcessEnding> ended;
  while (process_ && !(ended = process_->poll()) && monotonic_ns() < last) ::usleep(1000);
  const int code = ended ? ended->exit_code : 0;
  const std::string how = !ended       ? "closed its channel"
                          : code > 128 ? fmt::format("was ended by signal {}", code - 128)
                                       : fmt::format("ended with exit code {}", code);
  const bool killed = code == 128 + SIGKILL;  // as the kernel ends what takes more memory than there is
  return with_code(
      environment_error(
          fmt::format("the worker {} while it was asked to {}", how, asked),
          (killed ? "the kernel kills what takes more memory than there is: try a smaller batch or preset; " : "") +
              crash_message()),
      killed ? ErrorCode::out_of_memory : ErrorCode::none);
}

Result<std::string> ModelWorker::line(double deadline_s, const std::string& asked) {
  const std::int64_t last = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
  while (true) {
    if (const auto end = rest_.find('\n'); end != std::string::npos) {
      std::string found = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return found;
    }
    if (options_.interrupted != nullptr && options_.interrupted->load()) return environment_error("interrupted");
    if (monotonic_ns() >= last) {
      return environment_error(fmt::format("the worker did not {} within {:.3g} s", asked, deadline_s),
                               crash_message());
    }
    if (rest_.size() > kLongestAnswer) return data_error("the worker's answer has no end", crash_message());
    pollfd waited{socket_, POLLIN, 0};
    if (::poll(&waited, 1, 100) <= 0) continue;
    std::array<char, 65536> piece{};
    const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got > 0) rest_.append(piece.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return gone(asked);
  }
}

Result<Json> ModelWorker::ask(Json question, double deadline_s) {
  WM_TRY(post(std::move(question)));
  return answer(deadline_s);
}

Status ModelWorker::post(Json question) {
  asked_ = question["ask"].get<std::string>();
  question["number"] = ++number_;
  const std::string text = dump_json(question, -1) + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return gone(asked_);
    sent += static_cast<std::size_t>(now);
  }
  return {};
}

bool ModelWorker::has_answer(double wait_s) const {
  if (!rest_.empty()) return true;
  pollfd waited{socket_, POLLIN, 0};
  return ::poll(&waited, 1, static_cast<int>(wait_s * 1e3)) > 0;
}

Result<Json> ModelWorker::answer(double deadline_s) {
  const std::string& asked = asked_;
  WM_ASSIGN(const std::string answered, line(deadline_s, asked));
  auto answer = parse_json(answered, "the worker's answer");
  if (!answer.ok() || !answer->is_object()) {
    return data_error("the worker's answer to '" + asked + "' is no JSON object: " + answered.substr(0, 80),
                      crash_message());
  }
  const auto number = answer->find("number");
  if (number == answer->end() || *number != number_ || text_of(*answer, "ask") != asked) {
    return data_error("the worker answered another question than '" + asked + "'", crash_message());
  }
  if (answer->contains("refused")) {
    return Error{refused_kind(text_of(*answer, "refused")), text_of(*answer, "what"), text_of(*answer, "hint"),
                 answer->value("out_of_memory", false) ? ErrorCode::out_of_memory : ErrorCode::none};
  }
  return std::move(*answer);
}

Result<std::vector<RingRecord>> ModelWorker::records() const {
  std::array<std::int64_t, 2> head{};
  std::memcpy(head.data(), memory_, sizeof(head));
  const auto most = static_cast<std::int64_t>((kRingBytes - kRingHead) / sizeof(RingRecord));
  if (head[0] != kModelProtocol || head[1] < 0 || head[1] > most) {
    return data_error(fmt::format("the worker's memory says version {} with {} records", head[0], head[1]));
  }
  std::vector<RingRecord> all(static_cast<std::size_t>(head[1]));
  std::memcpy(all.data(), static_cast<const char*>(memory_) + kRingHead, all.size() * sizeof(RingRecord));
  return all;
}

}  // namespace warpmark::workers
