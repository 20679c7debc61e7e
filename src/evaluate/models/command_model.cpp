#include "evaluate/models/model.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/processes/reaper.h"

namespace warpmark::evaluate {
namespace {

constexpr std::size_t kLongestLine = 64 << 20;

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

class CommandModel : public Model {
 public:
  explicit CommandModel(std::string command) : command_(std::move(command)) {}
  ~CommandModel() override { stop(); }
  CommandModel(const CommandModel&) = delete;
  CommandModel& operator=(const CommandModel&) = delete;

  AskResult ask(Api, const Json& request, double deadline_s, const std::atomic<bool>* interrupted) override {
    const std::int64_t began = monotonic_ns(), deadline = began + static_cast<std::int64_t>(deadline_s * 1e9);
    if (!process_) {
      if (const Status started = start(); !started.ok()) return failed(started.error().what, false, true);
    }
    std::string line, problem;
    const bool done = send(dump_json(request, -1) + "\n", deadline, interrupted, problem) &&
                      receive(line, deadline, interrupted, problem);
    if (!done) {
      stop();  // what it still says would answer another question
      return failed(problem, true, false);
    }
    const auto body = parse_json(line, "the command's answer");
    if (!body.ok()) return failed(body.error().what, false, false);
    auto reply = reply_of(*body);
    if (!reply.ok()) return failed(reply.error().what, false, false);
    reply->latency_s = static_cast<double>(monotonic_ns() - began) * 1e-9;
    return {std::move(*reply), {}};
  }

 private:
  static AskResult failed(std::string what, bool may_pass, bool is_ours) {
    return {std::nullopt, {.what = std::move(what), .may_pass = may_pass, .is_ours = is_ours}};
  }

  Status start() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0) return environment_error(std::string("no pipe: ") + std::strerror(errno));
    if (::pipe2(out, O_CLOEXEC) != 0) {
      ::close(in[0]);
      ::close(in[1]);
      return environment_error(std::string("no pipe: ") + std::strerror(errno));
    }
    auto process =
        Reaped::start({"/bin/sh", "-c", command_}, {.descriptors = {{in[0], STDIN_FILENO}, {out[1], STDOUT_FILENO}}});
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (!process.ok()) {
      stop();
      return process.error();
    }
    ::fcntl(to_, F_SETFL, O_NONBLOCK);
    ::fcntl(from_, F_SETFL, O_NONBLOCK);
    process_ = std::move(*process);
    return {};
  }

  void stop() {
    close_descriptor(to_);
    close_descriptor(from_);
    buffer_.clear();
    process_.reset();
  }

  /// Until the descriptor is ready; false with the reason where it is not in time.
  bool wait_for(int descriptor, short events, std::int64_t deadline, const std::atomic<bool>* interrupted,
                std::string& problem) {
    for (;;) {
      if (interrupted != nullptr && interrupted->load()) {
        problem = "interrupted";
        return false;
      }
      const std::int64_t left_ms = (deadline - monotonic_ns()) / 1'000'000;
      if (left_ms <= 0) {
        problem = "the command did not answer in time";
        return false;
      }
      pollfd ready{descriptor, events, 0};
      const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 100)));
      if (count > 0) return true;
      if (count < 0 && errno != EINTR) {
        problem = std::string("waiting for the command failed: ") + std::strerror(errno);
        return false;
      }
    }
  }

  bool send(std::string_view bytes, std::int64_t deadline, const std::atomic<bool>* interrupted, std::string& problem) {
    while (!bytes.empty()) {
      const ssize_t sent = write_quietly(bytes);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (!wait_for(to_, POLLOUT, deadline, interrupted, problem)) return false;
      } else if (errno != EINTR) {
        problem = "the command ended before it answered";
        return false;
      }
    }
    return true;
  }

  /// A pipe nobody reads from must not end us: the signal is blocked in this thread and taken back.
  ssize_t write_quietly(std::string_view bytes) const {
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t sent = ::write(to_, bytes.data(), bytes.size());
    const int code = errno;
    if (sent < 0 && code == EPIPE) {
      const timespec none{};
      sigtimedwait(&pipe_signal, nullptr, &none);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = code;
    return sent;
  }

  bool receive(std::string& line, std::int64_t deadline, const std::atomic<bool>* interrupted, std::string& problem) {
    for (;;) {
      const auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return true;
      }
      if (buffer_.size() > kLongestLine) {
        problem = "the command's answer is longer than 64 MiB";
        return false;
      }
      char chunk[1 << 14];
      const ssize_t got = ::read(from_, chunk, sizeof(chunk));
      if (got > 0) {
        buffer_.append(chunk, static_cast<std::size_t>(got));
      } else if (got == 0) {
        problem = "the command ended before it answered";
        return false;
      } else if (errno == EAGAIN) {
        if (!wait_for(from_, POLLIN, deadline, interrupted, problem)) return false;
      } else if (errno != EINTR) {
        problem = std::string("reading from the command failed: ") + std::strerror(errno);
        return false;
      }
    }
  }

  std::string command_;
  std::optional<Reaped> process_;
  int to_ = -1;
  int from_ = -1;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<Model> command_model(const std::string& command) { return std::make_unique<CommandModel>(command); }

}  // namespace warpmark::evaluate
