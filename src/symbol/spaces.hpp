// The mappings of each process at the time of each sample.
#pragma once

#include <recount/sampling.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::symbol {

/// A mapping: a file, or the name of anonymous memory in brackets or after "//" ("[vdso]",
/// "//anon").
struct MappedFile {
  std::string path;
  std::uint64_t device = 0, inode = 0;
  std::vector<std::uint8_t> build_id; ///< empty: not told
  [[nodiscard]] bool is_file() const { return path.starts_with('/') && !path.starts_with("//"); }
};

/// Follows mappings, forks and execs in the order of their times (see Sampling). Memory is bounded: beyond a
/// million mappings, or 65536 files, further ones are unknown places. Not thread-safe.
class Spaces {
public:
  void add(const Mapping& mapping);
  void add(const Fork& fork);
  void add(const Name& name); ///< with exec: removes all mappings
  void add(const End& end);
  /// Any record; those unrelated to mappings are ignored.
  void add(const Record& record);

  struct Place {
    std::uint32_t file = 0;   ///< index into files()
    std::uint64_t offset = 0; ///< in the file; the address itself in anonymous memory
  };
  /// The current mapping of an address of a process; nothing if unknown.
  [[nodiscard]] std::optional<Place> find(std::uint32_t pid, std::uint64_t address) const;
  [[nodiscard]] const std::vector<MappedFile>& files() const noexcept { return files_; }
  /// Where the file was mapped in the process, by the address of its offset 0; none: not mapped.
  [[nodiscard]] std::optional<std::uint64_t> base(std::uint32_t pid, std::uint32_t file) const;
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; } ///< mappings beyond the bound

private:
  struct Region {
    std::uint64_t end = 0, offset = 0;
    std::uint32_t file = 0;
  };
  using Space = std::map<std::uint64_t, Region>; ///< by start
  std::uint32_t file_of(const Mapping& mapping);
  Space& own(std::uint32_t pid);
  static void cut(Space& space, std::uint64_t start, std::uint64_t end);

  std::unordered_map<std::uint32_t, std::shared_ptr<Space>>
      spaces_; ///< shared after a fork until one changes
  std::deque<std::uint32_t> ended_;
  std::vector<MappedFile> files_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::size_t regions_ = 0; ///< added so far
  std::uint64_t left_out_ = 0;
};

} // namespace recount::symbol
