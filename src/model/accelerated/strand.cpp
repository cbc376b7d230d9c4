#include "model/accelerated/strand.hpp"

#include <algorithm>

namespace recount::model {

namespace {

constexpr std::uint32_t no_guess = ~std::uint32_t{0};

} // namespace

std::uint32_t Strands::put(const About& about, std::uint32_t guess) {
  if (guess < table_.size() && std::ranges::equal(table_[guess].words(), words_)) return guess;
  const std::uint32_t id = table_.put(words_).number();
  if (id == about_.size()) about_.push_back(about);
  return id;
}

std::uint32_t Strands::leaf(std::span<const StrandEvent> events, std::uint32_t guess) {
  About about;
  words_.assign(1, eventful);
  for (const StrandEvent& e : events) {
    const std::int64_t line = e.line - events.front().line;
    words_.push_back(std::uint64_t{e.tag} << 32 | static_cast<std::uint64_t>(e.cause) << 29 |
                     std::uint64_t{e.writes} << 28 | std::uint64_t{e.from} << 22 | e.count);
    words_.push_back(static_cast<std::uint64_t>(line));
    about.low = std::min(about.low, line);
    about.high = std::max(about.high, line);
  }
  about.events = events.size();
  return put(about, guess);
}

StrandEvent Strands::event(std::uint32_t id, std::size_t i) const {
  const Interner::Words words = table_[id].words().subspan(2 * i + 1, 2);
  StrandEvent event;
  event.tag = static_cast<std::uint32_t>(words[0] >> 32);
  event.cause = static_cast<Cause>(words[0] >> 29 & 7);
  event.writes = (words[0] >> 28 & 1) != 0;
  event.from = words[0] >> 22 & 63;
  event.count = words[0] & 0x3fffff;
  event.line = static_cast<std::int64_t>(words[1]);
  return event;
}

std::uint32_t Strands::branch(std::span<const StrandChild> children) {
  constexpr std::int64_t reach = std::int64_t{1} << 19;
  constexpr std::uint32_t most = 0x3f;
  About about;
  about.leaf = false;
  bool fit = true;
  children_.clear();
  for (StrandChild child : children) {
    child.line -= children.front().line;
    const About& inside = about_[child.id];
    about.low = std::min(about.low, child.line + inside.low);
    about.high = std::max(about.high, child.line + inside.high);
    about.events += child.times * inside.events;
    fit = fit && child.at <= most && -reach <= child.line && child.line < reach;
    StrandChild* const last = children_.empty() ? nullptr : &children_.back();
    if (last != nullptr && last->id == child.id && last->line == child.line &&
        last->at + last->times == child.at)
      last->times += child.times;
    else
      children_.push_back(child);
  }
  fit = fit && std::ranges::all_of(children_, [](const StrandChild& c) { return c.times <= most; });
  words_.assign(1, fit ? narrow : wide);
  for (const StrandChild& child : children_) {
    const auto line = static_cast<std::uint64_t>(child.line);
    const std::uint64_t word = std::uint64_t{child.at} << 32 | child.id;
    if (fit)
      words_.push_back(line << 44 | std::uint64_t{child.times} << 38 | word);
    else
      words_.insert(words_.end(), {word, line, child.times});
  }
  return put(about, no_guess);
}

bool Strands::lay_out(std::uint32_t id, std::int64_t line, std::uint64_t path, unsigned depth) {
  constexpr unsigned deepest = 4;
  const bool leaf = about_[id].leaf;
  if (!leaf && depth == deepest) return false;
  for (std::size_t i = 0; i < size(id); ++i) {
    if (leaf) {
      StrandEvent e = event(id, i);
      e.line += line;
      row_.push_back({path | e.tag, e});
      continue;
    }
    const StrandChild inside = child(id, i);
    if (inside.at + inside.times > 0x100) return false;
    for (std::uint64_t at = inside.at; at < inside.at + inside.times; ++at)
      if (!lay_out(inside.id, line + inside.line, path | at << (32 + 8 * (deepest - 1 - depth)), depth + 1))
        return false;
  }
  return true;
}

std::optional<std::span<const Strands::Timed>> Strands::row(std::uint32_t id) {
  if (id >= rows_.size()) rows_.resize(about_.size());
  if (!rows_[id]) {
    row_.clear();
    if (!lay_out(id, 0, 0, 0)) row_.clear();
    rows_[id] = std::make_unique<std::vector<Timed>>(row_.begin(), row_.end());
    row_bytes_ += row_.size() * sizeof(Timed) + sizeof(row_);
  }
  if (rows_[id]->empty()) return {};
  return std::span<const Timed>(*rows_[id]);
}

std::size_t Strands::bytes() const {
  return table_.bytes() + about_.capacity() * sizeof(About) + rows_.capacity() * sizeof(rows_[0]) +
         row_bytes_;
}

} // namespace recount::model
