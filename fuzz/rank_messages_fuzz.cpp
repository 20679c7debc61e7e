// What ranks, launchers and `ss` print: all of it comes from other processes, and lines may be torn.
#include <string>
#include <string_view>

#include "base/json.h"
#include "collectives/alpha_beta.h"
#include "collectives/net/live.h"
#include "collectives/net/pairs.h"
#include "collectives/net/socket.h"
#include "collectives/results/report.h"
#include "collectives/results/row.h"
#include "collectives/start/launch.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark;
  using namespace warpmark::collectives;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)death_in(std::string(text));
  (void)net::parse_address(std::string(text), 1);
  (void)parse_plant(text);
  const auto message = message_of(text);
  const auto json = parse_json(message ? message->text : std::string(text), "message");
  if (!json.ok()) return 0;
  (void)head_from_json(*json);
  (void)plan_from_json(*json);
  if (const auto pairs = net::pairs_from_json(*json); pairs.ok()) (void)net::slow_hosts(*pairs);
  if (const auto row = row_from_json(*json); row.ok()) {
    (void)nccl_table_row(*row);
    (void)fit_link({*row, *row, *row, *row, *row, *row});
  }
  return 0;
}
