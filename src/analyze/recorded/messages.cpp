#include "analyze/recorded/messages.h"

#include <map>

#include "analyze/names/collective_kinds.h"

namespace warpmark::analyze {

std::vector<Message> messages_of(const Timeline& timeline, const WorkList& list) {
  std::vector<Message> messages;
  std::map<EventIndex, const Collective*> recorded;
  for (const Collective& one : timeline.collectives) recorded.emplace(one.event, &one);
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.category != Category::communication || !names_message(timeline.name_of(work.event))) continue;
    const auto found = recorded.find(work.event);
    const bool of_all =
        found != recorded.end()
            ? names_exchange_of_all(timeline.names.at(found->second->name))
            : any_around(list, work.launch, [&](EventIndex at) { return names_exchange_of_all(timeline.name_of(at)); });
    if (!of_all) messages.push_back({i, found == recorded.end() ? 0 : found->second->in_elements});
  }
  return messages;
}

}  // namespace warpmark::analyze
