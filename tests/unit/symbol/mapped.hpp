// A record of a mapped file.
#pragma once

#include <recount/sampling.hpp>

namespace recount::test {

inline Mapping mapped(std::uint32_t pid, std::uint64_t start, std::uint64_t length, std::uint64_t offset,
                      const char* file) {
  Mapping m;
  m.pid = m.tid = pid;
  m.start = start;
  m.length = length;
  m.offset = offset;
  m.file = file;
  return m;
}

} // namespace recount::test
