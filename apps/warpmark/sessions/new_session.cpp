#include "warpmark/sessions/new_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/text.h"
#include "device/machine.h"
#include "warpmark/sessions/build_info.h"
#include "warpmark/sessions/git_state.h"

namespace warpmark::apps {
namespace {

/// "20260301-123456-9f3a": sorts by time, and two processes of one second differ.
std::string new_session_id() {
  return fmt::format("{}-{:04x}", id_stamp(format_utc(wall_clock_s())), std::random_device{}() & 0xFFFFU);
}

}  // namespace

std::string id_stamp(std::string utc) {
  std::erase_if(utc, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::replace(utc.begin(), utc.end(), 'T', '-');
  return utc;
}

Session new_session(const Context& context) {
  const GitState git = git_state();
  Session session;
  session.id = new_session_id();
  session.started = format_utc(wall_clock_s());
  session.command = command_line_of(context);
  session.commit = git.commit;
  session.branch = git.branch;
  session.dirty = git.dirty;
  session.machine = device::machine_facts();
  session.build = build_info();
  return session;
}

}  // namespace warpmark::apps
