// Memory for words at fixed addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace recount::model {

/// Words, not set. Large blocks lie in huge pages if the system has some: they are looked up at random.
class WordBlock {
public:
  WordBlock() = default;
  explicit WordBlock(std::size_t words) : size_(words) {
    constexpr std::size_t page = 1 << 12, huge = 1 << 21;
    const std::size_t bytes = (words * sizeof(std::uint64_t) + page - 1) / page * page;
    words_.reset(static_cast<std::uint64_t*>(std::aligned_alloc(bytes % huge == 0 ? huge : page, bytes)));
    if (!words_) throw std::bad_alloc();
    if (bytes % huge == 0) ::madvise(words_.get(), bytes, MADV_HUGEPAGE);
  }
  [[nodiscard]] std::uint64_t* data() const { return words_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::size_t size_ = 0;
};

/// Hands out rows of words; all are let go at once. Not thread-safe.
class Arena {
public:
  /// `size` words, not set.
  std::uint64_t* take(std::size_t size) {
    if (size > left_) {
      left_ = std::max(size, std::clamp(words_ / 4, least_block, most_block));
      next_ = blocks_.emplace_back(left_).data();
      words_ += left_;
    }
    std::uint64_t* const there = next_;
    next_ += size;
    left_ -= size;
    return there;
  }
  [[nodiscard]] std::size_t bytes() const { return words_ * sizeof(std::uint64_t); }

private:
  static constexpr std::size_t least_block = 1 << 9, most_block = 1 << 18; // words
  std::vector<WordBlock> blocks_;
  std::uint64_t* next_ = nullptr;
  std::size_t left_ = 0, words_ = 0;
};

} // namespace recount::model
