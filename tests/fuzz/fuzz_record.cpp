// libFuzzer: any bytes as the memory of a ring buffer and as /proc/PID/maps. Nothing may be
// read outside.
#include "count/perf/record.hpp"

#include <recount/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace recount;

namespace {

volatile std::uint64_t seen = 0;

template <class Bytes>
void look_at(const Bytes& bytes) {
  for (const auto byte : bytes)
    seen = seen + static_cast<std::uint64_t>(byte);
}

void look_at(const perf::Decoded& decoded) {
  look_at(decoded.group);
  if (const auto* s = std::get_if<Sample>(&decoded.record)) {
    look_at(s->chain);
    look_at(s->user_registers);
    look_at(s->user_stack);
    look_at(s->branches);
  } else if (const auto* m = std::get_if<Mapping>(&decoded.record)) {
    look_at(m->file);
    look_at(m->build_id);
  } else if (const auto* n = std::get_if<Name>(&decoded.record)) {
    look_at(n->name);
  }
}

/// The first words say what the records hold and where the writer is; the rest is the ring.
void ring(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t words = 64;
  std::array<std::uint64_t, 5> how{};
  if (size < sizeof how) return;
  std::memcpy(how.data(), data, sizeof how);
  const perf::RecordFormat format{how[0] & perf::known_fields, how[1] & 31, how[2] & 255,
                                  how[1] & PERF_SAMPLE_BRANCH_HW_INDEX};
  const auto memory =
      std::make_unique<std::array<std::uint64_t, words>>(); // of its own, so that ASan sees its ends
  std::memcpy(memory->data(), data + sizeof how, std::min(size - sizeof how, sizeof *memory));
  const auto cursor = std::make_unique<perf::RingCursor>(*memory);
  for (std::uint64_t round = 0; round < 4; ++round) {
    cursor->set_head(how[4] % 4096 * (round + 1));
    for (auto record = cursor->front(); !record.empty(); record = cursor->front()) {
      perf::Decoded decoded;
      seen = seen + perf::id_of(record) + perf::time_of(record, format.sample_type);
      if (perf::decode(record, format, decoded) == perf::Understood::yes) look_at(decoded);
      cursor->drop();
    }
    if (cursor->full() && cursor->tail() == 0) std::abort();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ring(data, size);
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto mapping = perf::parse_maps_line(line)) look_at(mapping->file);
  return 0;
}
