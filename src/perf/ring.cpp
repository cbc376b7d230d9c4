#include "perf/ring.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::perf {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::span<const std::uint64_t> data_of(const perf_event_mmap_page* page, std::size_t bytes) {
  if (page == nullptr) return {};
  const auto* begin = reinterpret_cast<const char*>(page) + page_bytes();
  return {static_cast<const std::uint64_t*>(static_cast<const void*>(begin)), bytes / sizeof(std::uint64_t)};
}

} // namespace

void* Ring::map(int fd) {
  // Writable, so that the kernel respects the tail and never overwrites unread records.
  void* at = mmap(nullptr, page_bytes() + bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) return at;
  error_ = errno;
  return nullptr;
}

Ring::Ring(int fd, std::size_t bytes)
    : bytes_(bytes), page_(static_cast<perf_event_mmap_page*>(map(fd))), cursor_(data_of(page_, bytes)) {}

Ring::~Ring() {
  if (page_ != nullptr && owner_.here()) munmap(page_, page_bytes() + bytes_);
}

void Ring::look() noexcept {
  if (!owner_.here()) return;
  cursor_.set_head(std::atomic_ref(page_->data_head).load(std::memory_order_acquire));
}

void Ring::release() noexcept {
  if (!owner_.here()) return;
  std::atomic_ref(page_->data_tail).store(cursor_.tail(), std::memory_order_release);
}

std::size_t ring_bytes(std::size_t wanted, std::size_t rings) {
  constexpr std::size_t most = 2U << 20, least = 128U << 10, all = 64U << 20;
  const std::size_t bytes =
      wanted != 0 ? wanted : std::clamp(all / std::max<std::size_t>(rings, 1), least, most);
  return std::bit_ceil(std::clamp<std::size_t>(bytes, page_bytes(), std::size_t{1} << 30));
}

std::unique_ptr<Ring> map_ring(int fd, std::size_t bytes, int& error) {
  for (; bytes >= page_bytes(); bytes /= 2) {
    auto ring = std::make_unique<Ring>(fd, bytes);
    error = ring->error();
    if (error == 0) return ring;
    if (error != EPERM && error != ENOMEM) break;
  }
  return nullptr;
}

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
