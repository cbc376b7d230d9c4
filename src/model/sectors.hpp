// Which parts of the lines of a level are there.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace recount::model {

/// The sectors of the lines that a level holds; none where lines have none. A bit for each sector of a line.
class Sectors {
public:
  Sectors() = default;
  /// log2 of the bytes of a line and of a sector.
  Sectors(unsigned line_shift, unsigned shift) : line_shift_(line_shift), shift_(shift) {}

  [[nodiscard]] bool any() const { return line_shift_ > 0; }
  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] bool has(std::uint64_t address) const {
    const auto found = lines_.find(address >> line_shift_);
    return found != lines_.end() && (found->second.valid & bit(address)) != 0;
  }
  /// The sector is there from now on.
  void add(std::uint64_t address, bool dirty) {
    Line& line = lines_[address >> line_shift_];
    line.valid |= bit(address);
    if (dirty) line.dirty |= bit(address);
  }
  /// The line has left; its dirty sectors.
  std::uint64_t take(std::uint64_t line) {
    const auto found = lines_.find(line);
    if (found == lines_.end()) return 0;
    const std::uint64_t dirty = found->second.dirty;
    lines_.erase(found);
    return dirty;
  }
  void clean(std::uint64_t line) {
    if (const auto found = lines_.find(line); found != lines_.end()) found->second.dirty = 0;
  }

  /// As of Level; the words are those of a level with sectors.
  void save(std::vector<std::uint64_t>& words) const;
  void restore(std::span<const std::uint64_t>& words);
  void clear() { lines_.clear(); }

private:
  struct Line {
    std::uint64_t valid = 0, dirty = 0;
  };
  [[nodiscard]] std::uint64_t bit(std::uint64_t address) const {
    return std::uint64_t{1} << (address >> shift_ & ((std::uint64_t{1} << (line_shift_ - shift_)) - 1));
  }
  unsigned line_shift_ = 0, shift_ = 0;
  std::unordered_map<std::uint64_t, Line> lines_;
};

} // namespace recount::model
