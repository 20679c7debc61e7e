#include "watch/server/footprint.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace warpmark::watch {
namespace {

/// Code that the loader wrote into is private to this process: letting it go would bring back the file's own bytes.
bool has_text_relocations(const dl_phdr_info& object, std::span<const ElfW(Phdr)> headers) {
  for (const auto& header : headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

int give_back_object(dl_phdr_info* object, std::size_t, void*) {
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  if (object->dlpi_name == nullptr || has_text_relocations(*object, headers)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& header : headers) {
    // Writable segments hold what was relocated (RELRO is a part of them) and data: only the others are the file's.
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const auto begin = (object->dlpi_addr + header.p_vaddr + page - 1) / page * page;
    const auto end = (object->dlpi_addr + header.p_vaddr + header.p_filesz) / page * page;
    // An error leaves them where they are.
    if (begin < end) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

}  // namespace

void give_back_unused() {
  ::dl_iterate_phdr(give_back_object, nullptr);
  ::malloc_trim(0);
}

}  // namespace warpmark::watch
