#include "watch/server/server.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "http/client.h"
#include "http/socket.h"

namespace warpmark::watch {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

Answer echo(const Asked& asked) { return {.body = "path " + asked.path + "\n"}; }

/// A blocking client of plain sockets: what it sends need not be HTTP.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) {
    const auto addresses = http::resolve("127.0.0.1", port);
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = addresses.ok() && ::connect(fd_, reinterpret_cast<const sockaddr*>(&addresses->front().storage),
                                             addresses->front().size) == 0;
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server may have hung up on purpose
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// All until the server hangs up.
  std::string receive() {
    std::string all;
    char part[4096];
    for (ssize_t got = 0; (got = ::recv(fd_, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(got));
    return all;
  }
  [[nodiscard]] bool connected() const { return connected_; }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

std::string answer_to(const Server& server, const std::string& request) {
  RawClient client(server.port());
  EXPECT_TRUE(client.connected());
  client.send(request);
  return client.receive();
}

constexpr const char* kEnd = "Host: x\r\nConnection: close\r\n\r\n";

TEST(Server, answers_get_and_head_and_nothing_else) {
  const auto server = Server::start({}, echo);
  ASSERT_TRUE(server.ok()) << server.error().what;
  EXPECT_THAT((*server)->url(), StartsWith("http://127.0.0.1:"));
  const auto get = answer_to(**server, std::string("GET /a/../../etc/passwd?x=1 HTTP/1.1\r\n") + kEnd);
  EXPECT_THAT(get, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get, testing::EndsWith("\r\n\r\npath /a/../../etc/passwd\n"));
  const auto head = answer_to(**server, std::string("HEAD / HTTP/1.1\r\n") + kEnd);
  EXPECT_THAT(head, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer_to(**server, std::string("DELETE / HTTP/1.1\r\n") + kEnd), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(answer_to(**server, "this is no HTTP\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST(Server, refuses_headers_of_10_megabytes_and_goes_on) {
  const auto server = Server::start({}, echo);
  ASSERT_TRUE(server.ok());
  RawClient hostile((*server)->port());
  hostile.send("GET / HTTP/1.1\r\nX: " + std::string(10 << 20, 'a'));
  EXPECT_THAT(answer_to(**server, std::string("GET / HTTP/1.1\r\n") + kEnd), StartsWith("HTTP/1.1 200"));
}

TEST(Server, hangs_up_on_who_sends_a_byte_now_and_then) {
  const auto server = Server::start({.request_deadline_s = 0.3}, echo);
  ASSERT_TRUE(server.ok());
  RawClient slow((*server)->port());
  slow.send("GET / HT");
  EXPECT_EQ(slow.receive(), "");
  EXPECT_THAT(answer_to(**server, std::string("GET / HTTP/1.1\r\n") + kEnd), StartsWith("HTTP/1.1 200"));
}

TEST(Server, tells_the_surplus_of_clients_that_they_are_too_many) {
  const auto server = Server::start({.most_connections = 2}, echo);
  ASSERT_TRUE(server.ok());
  RawClient first((*server)->port()), second((*server)->port());
  EXPECT_THAT(answer_to(**server, std::string("GET / HTTP/1.1\r\n") + kEnd), StartsWith("HTTP/1.1 503"));
}

TEST(Server, with_a_token_answers_only_who_has_it) {
  const auto server = Server::start({.token = "0123456789abcdef"}, echo);
  ASSERT_TRUE(server.ok());
  const auto with = [&](const std::string& header) {
    return answer_to(**server, "GET / HTTP/1.1\r\n" + header + kEnd);
  };
  EXPECT_THAT(with(""), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(with("Authorization: Bearer 0123456789abcdeF\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(with("Authorization: Basic ????\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(with("Authorization: Bearer 0123456789abcdef\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with("Authorization: Basic cHJvbTowMTIzNDU2Nzg5YWJjZGVm\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST(Server, listens_beyond_loopback_with_a_token_only) {
  const auto open = Server::start({.host = "0.0.0.0"}, echo);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().kind, ErrorKind::usage);
}

TEST(Server, listens_on_the_address_of_a_name) {
  const auto server = Server::start({.host = "localhost"}, echo);
  ASSERT_TRUE(server.ok()) << server.error().what;
  EXPECT_THAT((*server)->url(), AnyOf(HasSubstr("127."), HasSubstr("[::1]")));
  const auto unknown = Server::start({.host = "no-such-host.invalid"}, echo);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::usage);
}

TEST(Server, says_that_a_port_is_taken) {
  const auto server = Server::start({}, echo);
  ASSERT_TRUE(server.ok());
  const auto second = Server::start({.port = (*server)->port()}, echo);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().what, HasSubstr("cannot listen on 127.0.0.1 port"));
}

/// Bytes of this process' code that are in memory: of what is mapped readable and executable, and never written.
std::int64_t resident_code_kib() {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t sum = 0;
  bool code = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" r-xp ") != std::string::npos)
      code = true;
    else if (line.find('-') != std::string::npos && line.find("kB") == std::string::npos)
      code = false;
    if (code && line.starts_with("Rss:")) sum += std::stoll(line.substr(4));
  }
  return sum;
}

TEST(Footprint, what_is_given_back_comes_again_when_it_is_needed) {
  const auto before = resident_code_kib();
  ASSERT_GT(before, 0);
  give_back_unused();
  EXPECT_LT(resident_code_kib(), before);
  const auto server = Server::start({}, echo);
  ASSERT_TRUE(server.ok());
  const auto url = http::parse_url((*server)->url() + "x");
  for (int i = 0; i < 3; ++i) {
    give_back_unused();
    const auto answer = http::request({.url = *url}, {.deadline_s = 20});
    ASSERT_TRUE(answer.ok()) << answer.error().what;
    EXPECT_EQ(answer->body, "path /x\n");
  }
}

}  // namespace
}  // namespace warpmark::watch
