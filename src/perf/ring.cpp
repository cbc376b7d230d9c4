#include "perf/ring.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
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

} // namespace recount::perf
