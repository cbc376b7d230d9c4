#include "perf/overflow_calls.hpp"

#include <algorithm>

namespace recount::perf {

Overflowed Ticks::at(std::uint64_t count) noexcept {
  if (count < base_) base_ = 0;
  const std::uint64_t times = (count - base_) / threshold_;
  base_ += times * threshold_;
  return {0, times, count - base_};
}

void Ticks::change(std::uint64_t threshold, std::uint64_t count) noexcept {
  threshold_ = threshold;
  base_ = count;
}

void OverflowCalls::begin(const Sample& sample, bool emulated) {
  call_.address = sample.ip;
  call_.data_address = sample.address;
  call_.emulated = emulated;
  call_.pid = sample.pid;
  call_.tid = sample.tid;
  const auto some =
      sample.interrupted_registers.first(std::min(sample.interrupted_registers.size(), registers_.size()));
  std::ranges::copy(some, registers_.begin());
  call_.registers = std::span(registers_).first(some.size());
  call_.events = 0;
  gathered_ = 0;
}

void OverflowCalls::add(std::size_t event, const Sample& sample) {
  const std::uint64_t bit = std::uint64_t{1} << event;
  const bool same = gathered_ > 0 && !call_.emulated && call_.address == sample.ip &&
                    call_.tid == sample.tid && (call_.events & bit) == 0;
  if (!same) {
    flush();
    begin(sample, false);
  }
  call_.events |= bit;
  overflowed_[gathered_++] = {event, 1, 0};
}

void OverflowCalls::add(const Overflowed& emulated, const Sample& timer) {
  if (gathered_ > 0 && !call_.emulated) flush();
  if (gathered_ == 0) begin(timer, true);
  call_.events |= std::uint64_t{1} << emulated.event;
  overflowed_[gathered_++] = emulated;
}

void OverflowCalls::flush() {
  if (muted_) gathered_ = 0;
  if (gathered_ == 0) return;
  call_.overflowed = std::span(overflowed_).first(gathered_);
  for (const Overflowed& o : call_.overflowed)
    told_[o.event] += o.times;
  gathered_ = 0; // first: the callback may come back here, by a signal in the thread's own delivery
  callback_(call_);
}

} // namespace recount::perf
