// Memory for measured code: mapped, placed, every page written.
#pragma once

#include "kernel/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace recount::kernel {

/// An anonymous private mapping; unmapped when destroyed.
class Memory {
public:
  enum class Pages { small, huge };

  /// Maps `bytes` that begin `offset` bytes (below a small page) after a page boundary, asks for
  /// small pages only or for huge ones (madvise(2); huge: the mapping begins at a 2 MiB boundary, and whether
  /// the system grants it is in placement()), and writes every page with zeros. An untouched page would
  /// be read from the shared zero page and never miss. Throws recount::Error: bad_input when `bytes`
  /// exceed what is available, unavailable when the mapping fails. `subject` names the request in the
  /// message.
  Memory(std::int64_t bytes, std::int64_t offset, Pages pages, const std::string& subject);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Reads /proc/self/smaps for the huge pages granted; 0 where it cannot be read.
  [[nodiscard]] Placement placement() const;

private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t bytes_, offset_;
};

} // namespace recount::kernel
