#include "profile/calls.hpp"

#include "process/fd.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

namespace recount::profile {
namespace {
constexpr std::size_t most_under_way = 4096;
constexpr std::size_t most_threads = 65536;
} // namespace

Calls::Calls(std::size_t counters, bool by_cpu)
    : spreads(counters), totals(counters), counters_(counters), by_cpu_(by_cpu), taken_(counters) {}

void Calls::add(const CallHit& hit) {
  ++(hit.returns ? returns : entries);
  if (threads_.size() >= most_threads && !threads_.contains(hit.tid)) {
    ++(hit.returns ? stray : forgotten);
    return;
  }
  Thread& thread = threads_[hit.tid];
  if (hit.returns)
    leave(thread, hit);
  else
    enter(thread, hit);
  thread.returned_last = hit.returns;
}

/// Entries from here on will not return.
void Calls::drop(Thread& thread, std::size_t from) {
  unreturned += thread.entries.size() - from;
  thread.entries.resize(from);
  thread.values.resize(from * counters_);
}

void Calls::enter(Thread& thread, const CallHit& hit) {
  // Stacks grow downwards: what lies below the new call's frame is gone. At the same place there may be the
  // calls of a tail recursion, all of which return together: after a return there are none left of these.
  const auto gone = [&](const Entry& e) {
    return e.stack < hit.stack || (e.stack == hit.stack && thread.returned_last);
  };
  const auto first = std::ranges::find_if(thread.entries, gone);
  drop(thread, static_cast<std::size_t>(first - thread.entries.begin()));
  if (!thread.entries.empty() && thread.entries.back().stack > hit.stack) ++recursive;
  if (thread.entries.size() >= most_under_way) {
    ++unreturned;
    return;
  }
  thread.entries.push_back({hit.stack, hit.time, hit.migrations, hit.cpu});
  thread.values.insert(thread.values.end(), hit.values.begin(), hit.values.end());
  thread.values.resize(thread.entries.size() * counters_);
}

void Calls::leave(Thread& thread, const CallHit& hit) {
  // Frames further in than the one that returns are gone.
  const auto inner =
      std::ranges::find_if(thread.entries, [&](const Entry& e) { return e.stack < hit.stack; });
  drop(thread, static_cast<std::size_t>(inner - thread.entries.begin()));
  if (thread.entries.empty() || thread.entries.back().stack != hit.stack) {
    ++stray;
    return;
  }
  complete(thread, hit);
  thread.entries.pop_back();
  thread.values.resize(thread.entries.size() * counters_);
}

void Calls::complete(Thread& thread, const CallHit& hit) {
  const Entry& entry = thread.entries.back();
  ++completed;
  const std::uint64_t took = hit.time - std::min(hit.time, entry.time);
  wall.add(took);
  // Within another call, unless all that is under way has the same frame: a tail recursion's inner calls,
  // whose counts the next return, that of the one around them, holds as well.
  const bool outer = thread.entries.front().stack == entry.stack;
  const bool chained = thread.returned_last && thread.returned_stack == hit.stack && outer;
  const bool moved = by_cpu_ && (entry.cpu != hit.cpu || entry.migrations != hit.migrations);
  migrated += moved ? 1U : 0U;
  recursive += chained ? 1U : 0U;
  if (!chained) {
    thread.returned_wall = 0;
    thread.returned_values.assign(counters_, 0);
  }
  for (std::size_t c = 0; c < counters_ && !moved; ++c) {
    const std::uint64_t before = thread.values[(thread.entries.size() - 1) * counters_ + c];
    taken_[c] = hit.values[c] - std::min(hit.values[c], before);
    spreads[c].add(taken_[c]);
    if (!outer) continue;
    totals[c] += taken_[c] - std::min(taken_[c], thread.returned_values[c]);
    thread.returned_values[c] = std::max(thread.returned_values[c], taken_[c]);
  }
  if (!outer) return;
  total_wall += took - std::min(took, thread.returned_wall);
  thread.returned_wall = std::max(thread.returned_wall, took);
  thread.returned_stack = hit.stack;
  outermost += !moved && !chained ? 1U : 0U;
}

void Calls::forget() {
  for (auto& [tid, thread] : threads_) {
    forgotten += thread.entries.size();
    thread = {};
  }
}

void Calls::end_thread(std::uint32_t tid) {
  const auto at = threads_.find(tid);
  if (at == threads_.end()) return;
  drop(at->second, 0);
  threads_.erase(at);
}

void Calls::finish() {
  for (auto& [tid, thread] : threads_)
    drop(thread, 0);
  threads_.clear();
}

std::size_t Spread::bucket(std::uint64_t value) noexcept {
  constexpr std::uint64_t exact = 1U << bits;
  if (value < exact) return static_cast<std::size_t>(value);
  const auto power = static_cast<unsigned>(std::bit_width(value)) - 1 - bits; // of the width of its bucket
  return (std::size_t{power} << bits) + static_cast<std::size_t>(value >> power);
}

std::uint64_t Spread::middle(std::size_t bucket) noexcept {
  constexpr std::size_t exact = 1U << bits;
  if (bucket < exact) return bucket;
  const std::size_t power = (bucket >> bits) - 1;
  const std::uint64_t low = std::uint64_t{bucket - (power << bits)} << power;
  return low + ((std::uint64_t{1} << power) - 1) / 2;
}

void Spread::add(std::uint64_t value) noexcept {
  least_ = count_ == 0 ? value : std::min(least_, value);
  greatest_ = std::max(greatest_, value);
  ++count_;
  sum_ += static_cast<double>(value);
  ++filled_[bucket(value)];
}

std::uint64_t Spread::quantile(double p) const noexcept {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::max(1.0, std::ceil(p * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    seen += filled_[i];
    if (seen >= wanted) return std::clamp(middle(i), least_, greatest_);
  }
  return greatest_;
}

namespace {
constexpr std::size_t slot = 64; ///< bytes per function
constexpr unsigned char ret = 0xc3;

/// First instructions by their bytes, `count` values from `first` on for the last of them.
struct FirstInstruction {
  std::array<unsigned char, 4> bytes;
  std::size_t size;
  unsigned count;
  std::array<unsigned char, 8> body;
  std::size_t body_size;
};
constexpr std::array<unsigned char, 8> push{0x55, 0x48, 0x83, 0xc4, 0x08}; // push rbp; add rsp, 8
constexpr std::array<unsigned char, 8> sub{0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08}; // sub, add rsp, 8
constexpr std::array<unsigned char, 8> nop{0x90}, jump{0xeb, 0x00}, endbr{0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::array<unsigned char, 8> other_no_op{0x89, 0xc0}; // mov eax, eax
constexpr FirstInstruction first_instructions[] = {
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 1, endbr, 4}, // endbr64
    {{0x50}, 1, 8, push, 5},                    // push of rax...rdi
    {{0x41, 0x50}, 2, 8, push, 5},              // push of r8...r15
    {{0x48, 0x83, 0xec}, 3, 1, sub, 8},         // sub rsp, imm8
    {{0x48, 0x81, 0xec}, 3, 1, sub, 8},         // sub rsp, imm32
    {{0x90}, 1, 1, nop, 1},
    {{0x66, 0x90}, 2, 1, nop, 1},
    {{0x0f, 0x1f}, 2, 1, nop, 1},
    {{0x66, 0x0f, 0x1f}, 3, 1, nop, 1},
    {{0xe8}, 1, 2, jump, 2}, // call, jmp
    {{0xeb}, 1, 1, jump, 2},
    {{0x70}, 1, 16, jump, 2},       // jcc rel8
    {{0x0f, 0x80}, 2, 16, jump, 2}, // jcc rel32
};

bool is(const FirstInstruction& kind, std::span<const unsigned char> code) {
  if (code.size() < kind.size) return false;
  const std::size_t last = kind.size - 1;
  return std::ranges::equal(code.first(last), std::span(kind.bytes).first(last)) &&
         code[last] >= kind.bytes[last] && code[last] - kind.bytes[last] < static_cast<int>(kind.count);
}
} // namespace

std::span<const unsigned char> calibration_body(std::span<const unsigned char> code) {
  for (const FirstInstruction& kind : first_instructions)
    if (is(kind, code)) return std::span(kind.body).first(kind.body_size);
  return std::span(other_no_op).first(2);
}

Calibration::Calibration(const std::vector<Site>& sites) {
#if defined(__x86_64__)
  std::vector<unsigned char> code(sites.size() * slot, ret);
  process::Fd file(::memfd_create("recount-calibration", MFD_CLOEXEC));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto body = calibration_body(sites[i].first);
    std::ranges::copy(body, code.begin() + static_cast<std::ptrdiff_t>(i * slot));
    Site site = sites[i];
    site.offset = i * slot;
    if (site.exits && !site.exits->empty())
      site.exits = std::vector<std::uint64_t>{site.offset + body.size()};
    site.file = file.get();
    sites_.all.push_back(std::move(site));
  }
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  void* const mapped = file && process::write_all(file.get(), text)
                           ? ::mmap(nullptr, code.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0)
                           : MAP_FAILED;
  if (mapped == MAP_FAILED) {
    sites_.all.clear();
    return;
  }
  code_ = static_cast<unsigned char*>(mapped);
  bytes_ = code.size();
  sites_.files.push_back(std::move(file));
#else
  static_cast<void>(sites);
#endif
}

Calibration::~Calibration() {
  if (code_ != nullptr) ::munmap(code_, bytes_);
}

void Calibration::call(std::size_t site) const {
  reinterpret_cast<void (*)()>(code_ + site * slot)();
}

} // namespace recount::profile
