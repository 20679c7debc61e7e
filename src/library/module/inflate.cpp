// The two functions of ISA-L that libwarpmark.so uses, by zlib. Debian has no archive of ISA-L, and a call to the
// shared one would reach the program's. zlib's memory is in the buffers of ISA-L's state, which has no function that
// frees it.
#include <isa-l/igzip_lib.h>
#include <zlib.h>

#include <cstddef>
#include <memory>

namespace {

struct Zlib {
  z_stream stream;
  bool begun;
  std::size_t used;
  alignas(std::max_align_t) unsigned char memory[48 << 10];  // inflate takes 7 KiB and a window of 32 KiB
};
static_assert(sizeof(Zlib) + alignof(Zlib) <= sizeof(inflate_state::tmp_out_buffer));

Zlib& zlib_of(inflate_state* state) {
  void* at = state->tmp_out_buffer;
  std::size_t space = sizeof state->tmp_out_buffer;
  return *static_cast<Zlib*>(std::align(alignof(Zlib), sizeof(Zlib), at, space));
}

voidpf take_memory(voidpf owner, uInt items, uInt size) {
  auto& zlib = *static_cast<Zlib*>(owner);
  constexpr std::size_t kUnit = alignof(std::max_align_t);
  const std::size_t bytes = (std::size_t{items} * size + kUnit - 1) / kUnit * kUnit;
  if (bytes > sizeof zlib.memory - zlib.used) return nullptr;
  zlib.used += bytes;
  return zlib.memory + zlib.used - bytes;
}

void leave_memory(voidpf, voidpf) {}

bool begin(Zlib& zlib, std::uint32_t wrapper) {
  zlib.stream = {};
  zlib.stream.zalloc = take_memory;
  zlib.stream.zfree = leave_memory;
  zlib.stream.opaque = &zlib;
  zlib.used = 0;
  zlib.begun = true;
  const int bits = wrapper == ISAL_GZIP ? MAX_WBITS + 16 : wrapper == ISAL_ZLIB ? MAX_WBITS : -MAX_WBITS;
  return inflateInit2(&zlib.stream, bits) == Z_OK;
}

}  // namespace

extern "C" void isal_inflate_init(inflate_state* state) {
  state->next_in = state->next_out = nullptr;
  state->avail_in = state->avail_out = state->total_out = 0;
  state->crc_flag = ISAL_DEFLATE;
  state->block_state = ISAL_BLOCK_NEW_HDR;
  zlib_of(state).begun = false;
}

extern "C" int isal_inflate(inflate_state* state) {
  auto& zlib = zlib_of(state);
  if (!zlib.begun && !begin(zlib, state->crc_flag)) return ISAL_INVALID_OPERATION;
  auto& stream = zlib.stream;
  stream.next_in = state->next_in;
  stream.avail_in = state->avail_in;
  stream.next_out = state->next_out;
  stream.avail_out = state->avail_out;
  const int code = inflate(&stream, Z_NO_FLUSH);
  state->next_in = stream.next_in;
  state->avail_in = stream.avail_in;
  state->next_out = stream.next_out;
  state->total_out += state->avail_out - stream.avail_out;
  state->avail_out = stream.avail_out;
  if (code == Z_STREAM_END) state->block_state = ISAL_BLOCK_FINISH;
  return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? ISAL_DECOMP_OK : ISAL_INVALID_BLOCK;
}
