// A real PostgreSQL for tests: made in a temporary folder, reached by a private socket there, gone with the process.
#pragma once

#include <string>

namespace warpmark::store {

/// Started by the first call of a process. Empty where PostgreSQL's server is not installed or cannot be started; `why`
/// tells.
struct PostgresServer {
  std::string folder;  ///< of the socket
  std::string why;
};
[[nodiscard]] const PostgresServer& postgres_server();

/// URL of a new, empty database on it. `user` is one of: warpmark (owns everything, no password), locked (password
/// "s3cret/word"), guest (may connect and nothing else).
[[nodiscard]] std::string new_postgres_database(const std::string& user = "warpmark");

/// URL of this database for another user; `password` as it stands in a URL.
[[nodiscard]] std::string postgres_url(const std::string& database, const std::string& user,
                                       const std::string& password = {});

/// As the owner of everything.
void execute_on_postgres(const std::string& url, const std::string& sql);

}  // namespace warpmark::store
