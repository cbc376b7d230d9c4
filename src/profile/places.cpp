#include "profile/places.hpp"

#include <algorithm>
#include <linux/perf_event.h>

namespace recount::profile {
namespace {
constexpr std::size_t most_places = 1'000'000;
constexpr std::size_t most_chains = 1'000'000;
} // namespace

std::size_t Places::Hash::operator()(const Place& p) const noexcept {
  std::uint64_t h = p.offset * 0x9e3779b97f4a7c15U + (std::uint64_t{p.file} << 8U) +
                    static_cast<std::uint64_t>(p.kind) + (std::uint64_t{p.object} << 40U);
  h ^= h >> 32U;
  return static_cast<std::size_t>(h * 0xbf58476d1ce4e5b9U);
}

Places::Places(std::vector<bool> after, bool chains)
    : after_(std::move(after)),
      with_chains_(chains),
      totals_(after_.size()),
      squares_(after_.size()),
      chains_(1) {
  chain_tallies_.resize(events());
}

void Places::add(const Record& record) {
  if (const auto* sample = std::get_if<Sample>(&record))
    add_sample(*sample);
  else
    spaces_.add(record);
}

double Places::effective(std::size_t event) const {
  const auto weight = static_cast<double>(totals_[event].weight);
  return squares_[event] > 0 ? weight * weight / squares_[event] : 0;
}

std::uint32_t Places::intern(const Place& wanted) {
  const bool full = places_.size() >= most_places;
  const Place place = full && !known_.contains(wanted) ? Place{Place::Kind::many} : wanted;
  const auto [at, added] = known_.emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (added) {
    places_.push_back(place);
    tallies_.resize(places_.size() * events());
  }
  return at->second;
}

std::uint32_t Places::place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object) {
  if (mode == Mode::kernel) return intern({Place::Kind::kernel, 0, address, object});
  const auto found = mode == Mode::user ? spaces_.find(pid, address) : std::nullopt;
  if (!found) return intern({Place::Kind::unknown, 0, address, object});
  const auto& mapped = spaces_.files()[found->file];
  const bool in_file = mapped.is_file() || mapped.path == "[vdso]";
  return intern({in_file ? Place::Kind::file : Place::Kind::memory, found->file, found->offset, object});
}

void Places::add_sample(const Sample& s) {
  // What was executed last ends right before the instruction that a trap names.
  const std::uint64_t back = after_[s.event] && s.mode == Mode::user && s.ip > 0 ? 1 : 0;
  const std::uint32_t innermost = place(s.pid, s.mode, s.ip - back);
  Tally& tally = tallies_[innermost * events() + s.event];
  Tally& total = totals_[s.event];
  for (Tally* t : {&tally, &total}) {
    ++t->samples;
    t->weight += s.period;
  }
  squares_[s.event] += static_cast<double>(s.period) * static_cast<double>(s.period);
  if (with_chains_) add_chain(s, innermost);
}

void Places::count(std::uint32_t pid, std::uint64_t address, std::size_t event, std::uint64_t samples,
                   std::uint64_t weight, std::uint32_t object) {
  const std::uint32_t at = place(pid, Mode::user, address, object);
  const std::uint32_t chain = with_chains_ ? child(0, at) : 0;
  const auto add = [&](Tally& tally) {
    tally.samples += samples;
    tally.weight += weight;
  };
  add(tallies_[at * events() + event]);
  add(totals_[event]);
  if (chain != 0) add(chain_tallies_[chain * events() + event]);
  const auto each = static_cast<double>(weight) / static_cast<double>(std::max<std::uint64_t>(samples, 1));
  squares_[event] += each * static_cast<double>(weight);
}

std::uint32_t Places::child(std::uint32_t caller, std::uint32_t place) {
  const std::uint64_t key = std::uint64_t{caller} << 32U | place;
  const auto known = known_chains_.find(key);
  if (known != known_chains_.end()) return known->second;
  if (chains_.size() >= most_chains) return 0;
  const auto made = static_cast<std::uint32_t>(chains_.size());
  known_chains_.emplace(key, made);
  chains_.push_back({caller, place});
  chain_tallies_.resize(chains_.size() * events());
  return made;
}

/// The kernel records addresses innermost first, with markers where the mode changes; all but the innermost
/// are return addresses, whose calls end right before them.
void Places::add_chain(const Sample& s, std::uint32_t innermost) {
  frames_.assign(1, innermost);
  Mode mode = s.mode;
  bool first = true;
  for (const std::uint64_t address : s.chain) {
    if (address >= PERF_CONTEXT_MAX) {
      mode = address == PERF_CONTEXT_KERNEL ? Mode::kernel
             : address == PERF_CONTEXT_USER ? Mode::user
                                            : Mode::unknown;
      continue;
    }
    if (address > 0 && !(first && address == s.ip)) frames_.push_back(place(s.pid, mode, address - 1));
    first = false;
  }
  std::uint32_t chain = 0;
  for (std::size_t i = frames_.size(); i-- > 0;) {
    const std::uint32_t next = child(chain, frames_[i]);
    if (next == 0) {
      ++cut_;
      break;
    }
    chain = next;
  }
  Tally& tally = chain_tallies_[chain * events() + s.event];
  ++tally.samples;
  tally.weight += s.period;
}

} // namespace recount::profile
