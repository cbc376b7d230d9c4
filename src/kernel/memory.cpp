#include "kernel/memory.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "host/disturbance.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::kernel {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t small_page() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// AnonHugePages of the mapping that holds `address`, in bytes.
std::int64_t huge_bytes_at(std::uint64_t address) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const std::string_view text(line), range = text.substr(0, text.find(' ')), name = "AnonHugePages:";
    const auto dash = std::min(range.find('-'), range.size());
    const auto from = base::parse<std::uint64_t>(range.substr(0, dash), 16);
    const auto to = base::parse<std::uint64_t>(range.substr(std::min(dash + 1, range.size())), 16);
    if (from && to)
      inside = *from <= address && address < *to;
    else if (inside && text.starts_with(name)) {
      const auto value = base::trim(text.substr(name.size())); // "2048 kB"
      return base::parse<std::int64_t>(value.substr(0, value.find(' '))).value_or(0) << 10;
    }
  }
  return 0;
}

} // namespace

Memory::Memory(std::int64_t bytes, std::int64_t offset, Pages pages, const std::string& subject)
    : bytes_(bytes), offset_(offset) {
  const std::int64_t available = host::memory_available();
  if (bytes > available)
    throw bad_input(subject,
                    fmt::format("needs {} bytes ({}) of memory, but {} ({}) are available", bytes,
                                base::format_bytes(static_cast<double>(bytes)), available,
                                base::format_bytes(static_cast<double>(available))),
                    "use a smaller size, or free memory (see free(1))");
  const bool huge = pages == Pages::huge;
  const auto wanted = static_cast<std::size_t>(bytes + offset);
  mapped_ = huge ? up(wanted, huge_page) + huge_page : up(wanted, small_page());
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw unavailable(subject, std::string("mmap failed: ") + std::strerror(errno), "ulimit -v",
                      "use a smaller size, or raise the limit on address space");
  auto* start = static_cast<std::byte*>(mapping_);
  if (huge)
    start += up(reinterpret_cast<std::uintptr_t>(start), huge_page) - reinterpret_cast<std::uintptr_t>(start);
  // A kernel without transparent huge pages refuses the advice and has nothing but small ones.
  madvise(start, up(wanted, huge ? huge_page : small_page()), huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(start, 0, wanted);
  // memset may be left out by a compiler that sees fresh zeros behind mmap; a volatile write cannot.
  for (std::size_t at = 0; at < wanted; at += small_page())
    *reinterpret_cast<volatile std::byte*>(start + at) = std::byte{0};
  data_ = start + offset;
}

Memory::~Memory() {
  munmap(mapping_, mapped_);
}

Placement Memory::placement() const {
  Placement at;
  at.base = reinterpret_cast<std::uintptr_t>(data_);
  at.bytes = static_cast<std::int64_t>(mapped_);
  at.page = static_cast<std::int64_t>(small_page());
  at.offset = static_cast<std::int64_t>(at.base % small_page());
  at.huge_bytes = std::min(at.bytes, huge_bytes_at(at.base));
  return at;
}

} // namespace recount::kernel
