#include "perf/sample_open.hpp"

#include "perf/errno_hints.hpp"
#include "perf/layout.hpp"
#include "perf/try_open.hpp"

#include <cerrno>
#include <span>
#include <unistd.h>

namespace recount::perf {
namespace {

/// Reads one descriptor, alone or as the leader of a group.
class ReadBack {
public:
  explicit ReadBack(const OpenSampling& open)
      : open_(open),
        layout_(open.format.read_format),
        words_(layout_.words(open.events.size())),
        raw_(open.events.size()) {}

  /// The events whose ids are given, in their order; empty when there is nothing to read any more.
  std::span<const Raw> read(int fd, std::span<const std::uint64_t> ids, const Event& event) {
    const ssize_t got = read_again(fd, words_.data(), words_.size() * sizeof words_.front());
    if (got < 0) throw call_error(Operation::read, event, errno, "read");
    const auto words = std::span(words_).first(static_cast<std::size_t>(got) / sizeof words_.front());
    const auto out = std::span(raw_).first(ids.size());
    return layout_.take(words, ids, times, out) ? out : std::span<const Raw>{};
  }

  void add(const Context& context, std::vector<SampledCount>& into) {
    const std::size_t each = open_.options.group ? context.fds.size() : 1;
    for (std::size_t first = 0; first < context.fds.size(); first += each) {
      if (!context.fds[first]) continue;
      const auto ids = std::span(context.ids).subspan(first, each);
      const auto raw = read(context.fds[first].get(), ids, open_.events[first].event);
      for (std::size_t i = 0; i < raw.size(); ++i) {
        add(raw[i], into[first + i]);
        into[first + i].opened += context.tid == open_.contexts.front().tid ? 1U : 0U;
      }
    }
  }

  Times times;

private:
  void add(const Raw& raw, SampledCount& count) const {
    count.occurrences += raw.value;
    count.enabled_ns += times.enabled;
    count.running_ns += times.running;
    if (open_.has.lost) count.lost = count.lost.value_or(0) + raw.lost;
  }

  const OpenSampling& open_;
  Layout layout_;
  std::vector<std::uint64_t> words_;
  std::vector<Raw> raw_;
};

} // namespace

std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into) {
  for (SampledCount& count : into) {
    count.occurrences = count.enabled_ns = count.running_ns = count.opened = 0;
    count.lost.reset();
  }
  ReadBack reader(open);
  std::uint64_t lost = 0;
  for (const Context& context : open.contexts) {
    reader.add(context, into);
    if (!context.follower) continue;
    const std::uint64_t id[] = {context.follower_id};
    for (const Raw& raw : reader.read(context.follower.get(), id, open.events.front().event))
      lost += raw.lost;
  }
  return lost;
}

} // namespace recount::perf
