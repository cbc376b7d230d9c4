#include "perf/layout.hpp"

#include <linux/perf_event.h>

#include <vector>

namespace recount::perf {

Layout::Layout(std::uint64_t read_format) noexcept {
  if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) enabled_ = header_++;
  if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) running_ = header_++;
  if (read_format & PERF_FORMAT_ID) id_ = stride_++;
  if (read_format & PERF_FORMAT_LOST) lost_ = stride_++;
}

bool Layout::take(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids, Times& times,
                  std::span<Raw> out) const noexcept {
  const std::size_t events = out.size();
  if (words.size() < this->words(events) || words[0] != events || ids.size() != events) return false;
  times.enabled = enabled_ == none ? 0 : words[enabled_];
  times.running = running_ == none ? 0 : words[running_];
  for (std::size_t i = 0; i < events; ++i) {
    const auto event = words.subspan(header_ + i * stride_, stride_);
    std::size_t place = i;
    if (id_ != none && event[id_] != ids[i]) {
      for (place = 0; place < events && ids[place] != event[id_];)
        ++place;
      if (place == events) return false;
    }
    out[place] = {event[0], lost_ == none ? 0 : event[lost_]};
  }
  return true;
}

bool Layout::put_in_order(std::span<std::uint64_t> words, std::span<const std::uint64_t> ids) const {
  const std::vector<std::uint64_t> as_read(words.begin(), words.end());
  std::vector<Raw> events(ids.size());
  Times times;
  if (!take(as_read, ids, times, events)) return false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    words[value(i)] = events[i].value;
    if (id_ != none) words[value(i) + id_] = ids[i];
    if (has_lost()) words[value(i) + lost_] = events[i].lost;
  }
  return true;
}

} // namespace recount::perf
