// The structures of perf.data that writer and reader share (tools/perf/util/header.h of Linux). Numbers are
// in the order of bytes of the machine that wrote the file.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace recount::perf {

struct FileSection {
  std::uint64_t offset = 0, size = 0;
};

/// The size of an attribute that is written, up to and including its field sample_max_stack: any perf(1)
/// since Linux 4.8 reads it.
inline constexpr std::uint32_t file_attr_size = PERF_ATTR_SIZE_VER5;

inline constexpr std::array<char, 8> file_magic{'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};

struct FileHeader {
  std::array<char, 8> magic = file_magic;
  std::uint64_t size = sizeof(FileHeader); ///< of a file that perf wrote to a pipe: 16
  std::uint64_t attribute_size = file_attr_size + sizeof(FileSection);
  FileSection attributes, data, event_types;
  std::array<std::uint64_t, 4> features{}; ///< bits; their sections follow the data in the same order
};
static_assert(sizeof(FileHeader) == 104);

/// Bits of FileHeader::features, HEADER_* of Linux.
enum FileFeature : unsigned {
  file_build_ids = 2,
  file_host = 3,
  file_release = 4,
  file_arch = 6,
  file_command = 11,
  file_events = 12
};

/// Records of perf itself, which no kernel writes, have numbers from here on.
inline constexpr std::uint32_t first_record_of_perf = 64, record_auxtrace = 71, record_compressed = 81,
                               record_compressed2 = 83;

/// The name that perf gives to the mapping of the kernel.
inline constexpr std::string_view kernel_map = "[kernel.kallsyms]_text";

/// The id of an event in a file of recount; 0 is none.
inline constexpr std::uint64_t id_of_event(std::size_t event) {
  return event + 1;
}

} // namespace recount::perf
