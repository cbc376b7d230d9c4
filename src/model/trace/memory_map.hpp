// What a traced process has at an address: heap blocks, stacks, files.
#pragma once

#include <boost/icl/split_interval_map.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace recount::trace {

/// Follows RT_HEAP, RT_SITE, RT_STACK, RT_UNMAPPED and RT_ANONYMOUS, which are not trusted, and mappings of
/// files. Memory is bounded: blocks and mappings beyond four million, and sites beyond a million, are left
/// out. Copied by a fork.
class MemoryMap {
public:
  struct Region {
    enum class Kind : std::uint8_t { block, stack, file, anonymous };
    Kind kind = Kind::block;
    std::uint32_t number = 0;         ///< of the site, the thread, the file, or the site
    std::uint64_t start = 0, end = 0; ///< as it was made
    bool operator==(const Region&) const = default;
  };
  /// False: damaged words.
  [[nodiscard]] bool take(std::uint64_t kind, std::span<const std::uint64_t> words);
  /// A mapping of a file, by a number that the caller chose.
  void map(std::uint64_t start, std::uint64_t end, std::uint32_t file);

  /// A live heap block, else a stack, else what is mapped; nothing for other memory.
  [[nodiscard]] std::optional<Region> find(std::uint64_t address) const;
  /// Code addresses of a site's calls, the innermost first; empty: unknown.
  [[nodiscard]] std::span<const std::uint64_t> site(std::uint32_t number) const;
  /// The block that the last record made, if it made one.
  [[nodiscard]] const std::optional<Region>& last_added() const { return last_added_; }
  /// The memory that the last record told of as gone; empty.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> gone() const { return gone_; }
  /// Records so far that changed what find() tells.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

private:
  using Regions = boost::icl::split_interval_map<std::uint64_t, Region, boost::icl::partial_enricher>;
  void set(Regions& regions, const Region& region);
  bool heap(std::span<const std::uint64_t> words);

  Regions blocks_, mapped_;
  std::map<std::uint32_t, Region> stacks_; ///< by thread
  std::map<std::uint32_t, std::vector<std::uint64_t>> sites_;
  std::optional<Region> last_added_;
  std::pair<std::uint64_t, std::uint64_t> gone_;
  std::uint64_t changes_ = 0;
};

} // namespace recount::trace
