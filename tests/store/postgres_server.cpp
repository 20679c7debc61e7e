#include "postgres_server.h"

#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "in_child.h"
#include "store/postgres/postgres_store.h"

namespace warpmark::store {
namespace {

/// The newest version that is installed; PATH does not have it on Debian.
std::filesystem::path programs() {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (std::filesystem::exists(version.path() / "bin" / "initdb")) found.push_back(version.path() / "bin");
  }
  return found.empty() ? std::filesystem::path() : *std::max_element(found.begin(), found.end());
}

class Server {
 public:
  Server() {
    const auto bin = programs();
    if (bin.empty()) {
      server_.why = "the server of PostgreSQL is not installed (package postgresql)";
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-pg-XXXXXX").string();
    WM_CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    if (::geteuid() == 0) {  // postgres refuses to run as root
      const passwd* user = ::getpwnam("postgres");
      if (user == nullptr) user = ::getpwnam("nobody");
      if (user == nullptr || ::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
        server_.why = "there is no other user to run the server as";
        return;
      }
      prefix_ = {"setpriv", "--reuid=" + std::to_string(user->pw_uid), "--regid=" + std::to_string(user->pw_gid),
                 "--clear-groups"};
    }
    start(bin);
  }
  ~Server() {
    if (child_ > 0) {
      ::kill(child_, SIGQUIT);  // at once, without saving anything
      static_cast<void>(wait_for(child_));
    }
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] const PostgresServer& get() const { return server_; }

 private:
  void start(const std::filesystem::path& bin) {
    const std::string data = folder_ / "data";
    auto words = prefix_;
    for (const std::string& word : {(bin / "initdb").string(), std::string("-D"), data, std::string("-U"),
                                    std::string("warpmark"), std::string("-A"), std::string("trust"), std::string("-E"),
                                    std::string("UTF8"), std::string("--lc-messages=C"), std::string("--no-sync")}) {
      words.push_back(word);
    }
    const auto made = run_process(words, {.deadline_s = 120, .directory = "/"});
    if (!made.ok() || made->exit_code != 0) {
      server_.why = "initdb failed: " + (made.ok() ? made->err : made.error().what);
      return;
    }
    std::ofstream(data + "/pg_hba.conf") << "local all locked scram-sha-256\nlocal all all trust\n";
    child_ = start_child([&] { return become_server(bin, data); });
    await();
  }

  int become_server(const std::filesystem::path& bin, const std::string& data) const {
    // It dies with this process, however that ends.
    std::vector<std::string> words{"setpriv", "--pdeathsig", "QUIT"};
    words.insert(words.end(), prefix_.begin() + (prefix_.empty() ? 0 : 1), prefix_.end());
    for (const std::string& word :
         {(bin / "postgres").string(), std::string("-D"), data, std::string("-k"), folder_.string(), std::string("-c"),
          std::string("listen_addresses="), std::string("-c"), std::string("fsync=off")}) {
      words.push_back(word);
    }
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const bool quiet = std::freopen("/dev/null", "w", stderr) != nullptr;
    if (::chdir("/") != 0 || !quiet) return 1;
    ::execvp("setpriv", arguments.data());
    return 127;
  }

  void await() {
    PostgresServer candidate{folder_, ""};
    const std::string url = "postgresql://warpmark@/postgres?host=" + candidate.folder;
    for (int attempt = 0; attempt < 600; ++attempt) {
      auto connection = PostgresConnection::open(url, {});
      if (connection.ok()) {
        const Status users = connection->script(
            "CREATE ROLE locked LOGIN PASSWORD 's3cret/word'; CREATE ROLE guest LOGIN; "
            "ALTER ROLE locked SUPERUSER");
        WM_CHECK(users.ok());
        server_ = candidate;
        return;
      }
      server_.why = connection.error().what;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  PostgresServer server_;
  std::filesystem::path folder_;
  std::vector<std::string> prefix_;  ///< of a command line: as which user
  pid_t child_ = 0;
};

}  // namespace

const PostgresServer& postgres_server() {
  static const Server server;
  return server.get();
}

std::string postgres_url(const std::string& database, const std::string& user, const std::string& password) {
  return "postgresql://" + user + (password.empty() ? "" : ":" + password) + "@/" + database +
         "?host=" + postgres_server().folder;
}

void execute_on_postgres(const std::string& url, const std::string& sql) {
  auto connection = PostgresConnection::open(url, {});
  WM_CHECK(connection.ok());
  WM_CHECK(connection->script("SET search_path = public").ok());
  const Status done = connection->script(sql);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().what.c_str());
  WM_CHECK(done.ok());
}

std::string new_postgres_database(const std::string& user) {
  static int count = 0;
  const std::string name = "t" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  execute_on_postgres(postgres_url("postgres", "warpmark"), "CREATE DATABASE " + name);
  return postgres_url(name, user);
}

}  // namespace warpmark::store
