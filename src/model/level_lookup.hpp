// How a level is used and filled: as it is kept, or by vector instructions in place, where all are wide.
#pragma once

#include "model/level.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

struct AsKept {
  [[gnu::always_inline]] static bool use(Level& level, std::uint64_t line) { return level.use(line, false); }
  [[gnu::always_inline]] static Level::Entry insert(Level& level, std::uint64_t line, bool dirty) {
    return level.insert(line, dirty);
  }
};

/// Only for levels that are wide_lru(), within what is compiled RECOUNT_BY_EIGHT.
struct ByVectors {
  RECOUNT_BY_EIGHT static bool use(Level& level, std::uint64_t line) {
    return wide::use(level.wide(), line, false);
  }
  RECOUNT_BY_EIGHT static Level::Entry insert(Level& level, std::uint64_t line, bool dirty) {
    return wide::insert(level.wide(), line, dirty);
  }
};

} // namespace recount::model
