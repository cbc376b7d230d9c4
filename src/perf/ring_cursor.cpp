#include "perf/ring_cursor.hpp"

#include <algorithm>
#include <cstring>
#include <linux/perf_event.h>

namespace recount::perf {
namespace {
constexpr std::uint64_t word = sizeof(std::uint64_t);
}

void RingCursor::set_head(std::uint64_t head) noexcept {
  const std::uint64_t before = head_;
  head_ = head;
  if (head - tail_ <= data_.size_bytes() && head % word == 0 && head - tail_ >= before - tail_) {
    least_free_ = std::min<std::uint64_t>(least_free_, data_.size_bytes() - (head - tail_));
    return;
  }
  ++damaged_; // the kernel never writes beyond the tail or moves back: the bytes in between are
              // invalid
  head_ = head - head % word;
  tail_ = head_;
  front_ = 0;
}

void RingCursor::skip_to_head() noexcept {
  ++damaged_;
  tail_ = head_;
  front_ = 0;
}

std::span<const std::uint64_t> RingCursor::front() noexcept {
  const std::uint64_t left = head_ - tail_;
  if (left == 0) return {};
  const std::size_t at = static_cast<std::size_t>(tail_ / word) & (data_.size() - 1);
  if (front_ == 0) {
    perf_event_header header{};
    std::memcpy(&header, &data_[at], sizeof header);
    if (header.size < sizeof header || header.size % word != 0 || header.size > left) {
      skip_to_head();
      return {};
    }
    front_ = header.size / word;
    largest_ = std::max(largest_, front_);
  }
  if (at + front_ <= data_.size()) return data_.subspan(at, front_);
  const auto begin = data_.subspan(at);
  const auto rest = data_.first(front_ - begin.size());
  std::copy(rest.begin(), rest.end(), std::copy(begin.begin(), begin.end(), joined_.begin()));
  return std::span(joined_).first(front_);
}

void RingCursor::drop() noexcept {
  tail_ += front_ * word;
  front_ = 0;
}

} // namespace recount::perf
