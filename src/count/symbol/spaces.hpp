// The mappings of each process at the time of each sample.
#pragma once

#include <recount/sampling.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::symbol {

/// What is mapped: a file, or anonymous memory, whose name is "[vdso]", "[heap]", "//anon".
struct MappedFile {
  std::string path;
  std::uint64_t device = 0, inode = 0;
  std::vector<std::uint8_t> build_id; ///< empty: not reported
  [[nodiscard]] bool is_file() const { return path.starts_with('/') && !path.starts_with("//"); }
};

/// Follows mappings, forks and execs in the order of their times (see Sampling). Memory is bounded: mappings
/// beyond a million per process, or 65536 files, are unknown. Not thread-safe.
class Spaces {
public:
  /// Any record; those unrelated to mappings are ignored.
  void add(const Record& record);

  struct Location {
    std::uint32_t file = 0;   ///< index into files()
    std::uint64_t offset = 0; ///< in the file; the address itself in anonymous memory
  };
  /// The current mapping of an address of a process; nothing if unknown.
  [[nodiscard]] std::optional<Location> find(std::uint32_t pid, std::uint64_t address) const;
  [[nodiscard]] const std::vector<MappedFile>& files() const noexcept { return files_; }
  /// Address of the first mapping of the file in the process, and its offset in the file; none: not mapped.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> mapped(std::uint32_t pid,
                                                                              std::uint32_t file) const;

private:
  struct Region {
    std::uint64_t end = 0, offset = 0;
    std::uint32_t file = 0;
  };
  using Space = std::map<std::uint64_t, Region>; ///< by start
  void take(const Mapping& mapping);
  void take(const Fork& fork);
  void take(const Name& name);
  void take(const End& end);
  template <class Other>
  void take(const Other&) {}
  std::uint32_t file_number(const Mapping& mapping);
  static void cut(Space& space, std::uint64_t start, std::uint64_t end);

  std::unordered_map<std::uint32_t, Space> spaces_; ///< by process
  std::deque<std::uint32_t> ended_;                 ///< processes, in order
  std::vector<MappedFile> files_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

} // namespace recount::symbol
