// Which kind of miss each miss of the first level is.
#pragma once

#include "model/hierarchy.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace recount::trace {

/// After Hill, Aspects of Cache Memory and Instruction Buffer Performance, 1987: compulsory, the first miss
/// of a line; capacity, a fully associative LRU cache of the same size misses as well; conflict, it hits.
class MissKinds {
public:
  static constexpr std::array<std::string_view, 3> names{"MODEL_L1_COMPULSORY", "MODEL_L1_CAPACITY",
                                                         "MODEL_L1_CONFLICT"};

  explicit MissKinds(const model::MachineDescription& machine);
  /// Every access, after it went into the machine, where it had so many misses in the first level.
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::int64_t misses) {
    if constexpr (store)
      full_.store(address, bytes);
    else
      full_.load(address, bytes);
    if (misses > 0) [[unlikely]]
      classify(address, bytes, misses);
    full_misses_ = full_.first_misses();
  }
  [[nodiscard]] std::int64_t count(std::size_t kind) const { return counts_[kind]; }

private:
  void classify(std::uint64_t address, unsigned bytes, std::int64_t misses);
  bool is_new(std::uint64_t line);

  model::Hierarchy full_;
  unsigned shift_;               ///< log2 of a line
  std::int64_t full_misses_ = 0; ///< before the access
  std::array<std::int64_t, 3> counts_{};
  std::unordered_map<std::uint64_t, std::uint64_t> missed_; ///< by 64 lines: those that have missed
};

} // namespace recount::trace
