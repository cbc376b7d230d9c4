#include "count/perf/record.hpp"

#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace recount::perf {
namespace {

using Words = std::span<const std::uint64_t>;

std::uint32_t low(std::uint64_t word) {
  std::uint32_t half = 0;
  std::memcpy(&half, &word, sizeof half); // the first in memory, whatever the order of bytes
  return half;
}
std::uint32_t high(std::uint64_t word) {
  std::uint32_t half[2];
  std::memcpy(half, &word, sizeof half);
  return half[1];
}

/// Consumes words from the front; after an underrun, all results are empty.
class Cursor {
public:
  explicit Cursor(Words words) : left_(words) {}
  std::uint64_t word() {
    const Words one = words(1);
    return one.empty() ? 0 : one[0];
  }
  Words words(std::uint64_t count) {
    if (count > left_.size()) {
      short_ = true;
      left_ = {};
    }
    const Words taken = left_.first(short_ ? 0 : static_cast<std::size_t>(count));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] bool ran_short() const noexcept { return short_; }
  [[nodiscard]] Words left() const noexcept { return left_; }

private:
  Words left_;
  bool short_ = false;
};

/// The text at the start of some words, up to its NUL.
std::string_view text(Words words) {
  const std::string_view all(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  return all.substr(0, all.find('\0'));
}

/// The trailer of every record except samples.
struct Trailer {
  std::uint64_t time = 0, id = 0;
};

std::size_t trailer_words(std::uint64_t type) {
  return static_cast<std::size_t>(
      std::popcount(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                            PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)));
}

Trailer trailer(Words words, std::uint64_t type) {
  Cursor at(words);
  Trailer out;
  if (type & PERF_SAMPLE_TID) at.word();
  if (type & PERF_SAMPLE_TIME) out.time = at.word();
  if (type & PERF_SAMPLE_ID) out.id = at.word();
  if (type & PERF_SAMPLE_STREAM_ID) at.word();
  if (type & PERF_SAMPLE_CPU) at.word();
  if (type & PERF_SAMPLE_IDENTIFIER) out.id = at.word();
  return out;
}

/// The words of a group's or an event's reading.
Words reading(Cursor& at, std::uint64_t format) {
  const auto times = static_cast<std::uint64_t>(
      std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)));
  const std::uint64_t each =
      1 + static_cast<std::uint64_t>(std::popcount(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)));
  if (!(format & PERF_FORMAT_GROUP)) return at.words(each + times);
  const Words rest = at.left();
  const std::uint64_t events = rest.empty() ? 0 : rest[0];
  if (events > rest.size()) return at.words(~std::uint64_t{0}); // runs short without a product that wraps
  return at.words(1 + times + events * each);
}

/// Registers, whose number follows from the mask: none if the thread has no user mode.
Words registers(Cursor& at, std::uint64_t mask, std::uint64_t& abi) {
  abi = at.word();
  return abi == PERF_SAMPLE_REGS_ABI_NONE ? Words{}
                                          : at.words(static_cast<std::uint64_t>(std::popcount(mask)));
}

/// The copy of the stack: its size, the bytes, and how many of them are valid.
Words user_stack(Cursor& at) {
  const std::uint64_t size = at.word();
  if (size == 0) return {};
  const Words bytes = at.words(size / sizeof(std::uint64_t));
  const std::uint64_t valid = at.word() / sizeof(std::uint64_t);
  return bytes.first(std::min<std::uint64_t>(valid, bytes.size()));
}

/// Data of a tracepoint: a size of 32 bits, and as many bytes, filled up to whole words.
void skip_raw(Cursor& at) {
  const std::uint64_t first = at.word();
  const std::uint64_t bytes = sizeof(std::uint32_t) + std::uint64_t{low(first)};
  at.words((bytes + sizeof first - 1) / sizeof first - 1);
}

Words branches(Cursor& at, std::uint64_t branch_type) {
  constexpr std::uint64_t words = sizeof(perf_branch_entry) / sizeof(std::uint64_t);
  const std::uint64_t count = at.word();
  if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX) at.word();
  return at.words(count > at.left().size() ? count : count * words); // a product that does not wrap
}

Mode mode(std::uint16_t misc) {
  const auto value = static_cast<Mode>(misc & PERF_RECORD_MISC_CPUMODE_MASK);
  return value <= Mode::guest_user ? value : Mode::unknown;
}

bool sample(Cursor at, const RecordFormat& format, std::uint16_t misc, Decoded& into) {
  const std::uint64_t type = format.sample_type;
  Sample& s = into.record.emplace<Sample>();
  s.mode = mode(misc);
  s.exact = misc & PERF_RECORD_MISC_EXACT_IP;
  if (type & ~(known_fields | skipped_fields)) return false;
  if (type & PERF_SAMPLE_IDENTIFIER) into.id = at.word();
  if (type & PERF_SAMPLE_IP) s.ip = at.word();
  if (type & PERF_SAMPLE_TID) {
    const std::uint64_t word = at.word();
    s.pid = low(word);
    s.tid = high(word);
  }
  if (type & PERF_SAMPLE_TIME) s.time = at.word();
  if (type & PERF_SAMPLE_ADDR) s.address = at.word();
  if (type & PERF_SAMPLE_ID) into.id = at.word();
  if (type & PERF_SAMPLE_STREAM_ID) at.word();
  if (type & PERF_SAMPLE_CPU) s.cpu = low(at.word());
  if (type & PERF_SAMPLE_PERIOD) s.period = at.word();
  if (type & PERF_SAMPLE_READ) into.group = reading(at, format.read_format);
  if (type & PERF_SAMPLE_CALLCHAIN) s.chain = at.words(at.word());
  if (type & PERF_SAMPLE_RAW) skip_raw(at);
  if (type & PERF_SAMPLE_BRANCH_STACK) s.branches = branches(at, format.branch_type);
  if (type & PERF_SAMPLE_REGS_USER) s.user_registers = registers(at, format.user_registers, s.register_abi);
  if (type & PERF_SAMPLE_STACK_USER) s.user_stack = user_stack(at);
  return !at.ran_short();
}

/// A build id replaces device and inode: its length, three bytes of padding, 20 bytes.
void identity(Words words, bool build_id, Mapping& m) {
  if (!build_id) {
    m.device = makedev(low(words[0]), high(words[0]));
    m.inode = words[1];
    return;
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(words.data());
  m.build_id = {bytes + 4, std::min<std::size_t>(bytes[0], 20)};
}

bool mapping(Cursor at, std::uint16_t misc, std::uint64_t time, Mapping& m) {
  const std::uint64_t ids = at.word();
  m.pid = low(ids);
  m.tid = high(ids);
  m.time = time;
  m.start = at.word();
  m.length = at.word();
  m.offset = at.word();
  const Words which = at.words(3);
  m.protection = low(at.word());
  m.file = text(at.left());
  if (at.ran_short()) return false;
  identity(which, misc & PERF_RECORD_MISC_MMAP_BUILD_ID, m);
  return true;
}

/// {pid, ppid, tid, ptid, time}: FORK and EXIT.
bool task(Cursor at, std::uint32_t type, std::uint64_t time, Record& record) {
  const std::uint64_t pids = at.word(), tids = at.word(), when = at.word();
  if (time == 0) time = when;
  if (type == PERF_RECORD_FORK)
    record = Fork{time, low(pids), low(tids), high(pids), high(tids)};
  else
    record = End{time, low(pids), low(tids)};
  return !at.ran_short();
}

Understood understood(bool ok) {
  return ok ? Understood::yes : Understood::no;
}

Understood parse_other(std::uint32_t type, std::uint16_t misc, Cursor at, const Trailer& end,
                       Record& record) {
  switch (type) {
  case PERF_RECORD_MMAP2: return understood(mapping(at, misc, end.time, record.emplace<Mapping>()));
  case PERF_RECORD_COMM: {
    const std::uint64_t ids = at.word();
    record = Name{end.time, low(ids), high(ids), (misc & PERF_RECORD_MISC_COMM_EXEC) != 0, text(at.left())};
    return understood(!at.ran_short());
  }
  case PERF_RECORD_FORK:
  case PERF_RECORD_EXIT: return understood(task(at, type, end.time, record));
  case PERF_RECORD_LOST: {
    at.word(); // the id of the event whose record did not fit: records of others may be lost, too
    record = Loss{end.time, at.word()};
    return understood(!at.ran_short());
  }
  case PERF_RECORD_LOST_SAMPLES: { // dropped by the PMU's driver, which never wrote them
    record = Loss{end.time, at.word()};
    return understood(!at.ran_short());
  }
  case PERF_RECORD_THROTTLE:
  case PERF_RECORD_UNTHROTTLE: {
    record = Throttle{end.time, 0, type == PERF_RECORD_THROTTLE};
    at.words(3); // time, id, stream id
    return understood(!at.ran_short());
  }
  default: return Understood::other;
  }
}

} // namespace

Understood decode(Words words, const RecordFormat& format, Decoded& into) {
  into.id = 0;
  into.group = {};
  if (words.empty()) return Understood::no;
  perf_event_header header{};
  std::memcpy(&header, words.data(), sizeof header);
  if (header.size != words.size_bytes()) return Understood::no;
  const Words body = words.subspan(1);
  if (header.type == PERF_RECORD_SAMPLE) return understood(sample(Cursor(body), format, header.misc, into));
  const std::size_t tail = trailer_words(format.sample_type);
  if (body.size() < tail) return Understood::no;
  const Trailer end = trailer(body.last(tail), format.sample_type);
  into.id = end.id;
  return parse_other(header.type, header.misc, Cursor(body.first(body.size() - tail)), end, into.record);
}

std::uint64_t id_of(Words words) noexcept {
  if (words.size() < 2) return 0;
  perf_event_header header{};
  std::memcpy(&header, words.data(), sizeof header);
  return header.type == PERF_RECORD_SAMPLE ? words[1] : words.back();
}

std::uint64_t time_of(Words words, std::uint64_t type) noexcept {
  if (words.empty() || !(type & PERF_SAMPLE_TIME)) return 0;
  const auto before = static_cast<std::size_t>(
      std::popcount(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)));
  perf_event_header header{};
  std::memcpy(&header, words.data(), sizeof header);
  if (header.type == PERF_RECORD_SAMPLE) return 1 + before < words.size() ? words[1 + before] : 0;
  const std::size_t tail = trailer_words(type);
  return words.size() > tail ? trailer(words.last(tail), type).time : 0;
}

namespace {

/// Takes a number up to `end`, and the end too.
bool take(std::string_view& text, int base, char end, std::uint64_t& number) {
  const auto [at, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (wrong != std::errc() || at == text.data() + text.size() || *at != end) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return true;
}

} // namespace

std::optional<Mapping> parse_maps_line(std::string_view line) {
  Mapping m;
  std::uint64_t end = 0, major = 0, minor = 0;
  if (!take(line, 16, '-', m.start) || !take(line, 16, ' ', end) || end < m.start || line.size() < 5)
    return {};
  m.length = end - m.start;
  m.protection = (line[0] == 'r' ? PROT_READ : 0U) | (line[1] == 'w' ? PROT_WRITE : 0U) |
                 (line[2] == 'x' ? PROT_EXEC : 0U);
  line.remove_prefix(5);
  if (!take(line, 16, ' ', m.offset) || !take(line, 16, ':', major) || !take(line, 16, ' ', minor)) return {};
  m.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  m.file = "//anon"; // as the kernel's records call memory without a name
  if (!take(line, 10, ' ', m.inode)) return m;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.empty()) m.file = line;
  return m;
}

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
    min_free_ = std::min<std::uint64_t>(min_free_, data_.size_bytes() - (head - tail_));
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
