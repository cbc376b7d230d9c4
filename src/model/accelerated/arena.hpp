// Memory for words at fixed addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace recount::model {

/// Hands out rows of words; all are let go at once. Not thread-safe.
class Arena {
public:
  /// `size` words, not set.
  std::uint64_t* take(std::size_t size) {
    if (size > left_) {
      left_ = std::max(size, std::clamp(words_ / 4, least_block, most_block));
      blocks_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(left_));
      next_ = blocks_.back().get();
      words_ += left_;
    }
    std::uint64_t* const there = next_;
    next_ += size;
    left_ -= size;
    return there;
  }
  [[nodiscard]] std::size_t bytes() const { return words_ * sizeof(std::uint64_t); }

private:
  static constexpr std::size_t least_block = 1 << 9, most_block = 1 << 17; // words
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::uint64_t* next_ = nullptr;
  std::size_t left_ = 0, words_ = 0;
};

} // namespace recount::model
