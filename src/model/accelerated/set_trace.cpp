#include "model/accelerated/set_trace.hpp"

#include <algorithm>

namespace recount::model {

namespace {

constexpr std::uint32_t no_guess = ~std::uint32_t{0};

} // namespace

std::uint32_t SetTraces::put(const About& about, std::uint32_t guess) {
  if (guess < table_.size() && std::ranges::equal(table_[guess].words(), words_)) return guess;
  const std::uint32_t id = table_.put(words_).number();
  if (id == about_.size()) about_.push_back(about);
  return id;
}

std::uint32_t SetTraces::leaf(std::span<const TraceEvent> events, std::uint32_t guess) {
  About about;
  words_.assign(1, eventful);
  for (const TraceEvent& e : events) {
    const std::int64_t line = e.line - events.front().line;
    words_.push_back(EventWord{e.tag, e.cause, e.writes, e.from, e.count}.pack());
    words_.push_back(static_cast<std::uint64_t>(line));
    about.low = std::min(about.low, line);
    about.high = std::max(about.high, line);
  }
  about.events = events.size();
  return put(about, guess);
}

TraceEvent SetTraces::event(std::uint32_t id, std::size_t i) const {
  const Interner::Words words = table_[id].words().subspan(2 * i + 1, 2);
  const EventWord e = EventWord::unpack(words[0]);
  return {e.tag, e.cause, e.writes, e.from, e.count, static_cast<std::int64_t>(words[1])};
}

std::uint32_t SetTraces::branch(std::span<const TraceChild> children) {
  About about;
  about.leaf = false;
  bool fit = true;
  children_.clear();
  for (TraceChild child : children) {
    child.line -= children.front().line;
    const About& inside = about_[child.id];
    about.low = std::min(about.low, child.line + inside.low);
    about.high = std::max(about.high, child.line + inside.high);
    about.events += child.times * inside.events;
    fit = fit && child.at <= ChildWord::most && -ChildWord::reach <= child.line &&
          child.line < ChildWord::reach;
    TraceChild* const last = children_.empty() ? nullptr : &children_.back();
    if (last != nullptr && last->id == child.id && last->line == child.line &&
        last->at + last->times == child.at)
      last->times += child.times;
    else
      children_.push_back(child);
  }
  fit = fit && std::ranges::all_of(children_, [](const TraceChild& c) { return c.times <= ChildWord::most; });
  words_.assign(1, fit ? narrow : wide);
  for (const TraceChild& child : children_) {
    if (fit)
      words_.push_back(ChildWord{child.at, child.id, child.line, child.times}.pack());
    else
      words_.insert(words_.end(), {std::uint64_t{child.at} << 32 | child.id,
                                   static_cast<std::uint64_t>(child.line), child.times});
  }
  return put(about, no_guess);
}

std::size_t SetTraces::bytes() const {
  return table_.bytes() + about_.capacity() * sizeof(About);
}

} // namespace recount::model
