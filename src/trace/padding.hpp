// Addresses of data whose rows are a cache line longer than they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace recount::trace {

/// Finds data that conflict misses walk through at a constant stride, and moves them to where each such row
/// is followed by an unused line. At most eight at a time; another layout begins at the miss that decides.
class Padding {
public:
  explicit Padding(std::uint64_t line) : line_(line) {}
  /// The address that an access has with the longer rows.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    for (const Rows& rows : rows_)
      if (address - rows.start < rows.bytes) return moved(rows, address);
    return address;
  }
  /// A conflict miss within data. The bytes of a row, once the data have been found.
  std::optional<std::uint64_t> conflict(std::uint64_t start, std::uint64_t end, std::uint64_t address);
  /// The data that began there are no more.
  void forget(std::uint64_t start);

private:
  struct Rows {
    std::uint64_t start, bytes, row, base; ///< base: where they are moved to
  };
  struct Walk {
    std::uint64_t last = 0, stride = 0;
    int times = 0;
  };
  [[nodiscard]] std::uint64_t moved(const Rows& rows, std::uint64_t address) const {
    const std::uint64_t offset = address - rows.start;
    return rows.base + offset + offset / rows.row * line_;
  }

  std::uint64_t line_;
  std::vector<Rows> rows_;
  std::uint64_t found_ = 0;             ///< data so far
  std::map<std::uint64_t, Walk> walks_; ///< by start of the data
};

} // namespace recount::trace
