#include "model/sets.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace recount::model {

namespace {

constexpr unsigned oldest = 3;
constexpr std::size_t group_ways = 4;

/// Of the groups of lru_plru4: three tree bits each from bit 0, and from bit 32 the groups in the order of
/// use, the most recent first, four bits each, XOR their place.
constexpr unsigned tree_bits = 3, order_bit = 32, order_bits = 4;

std::size_t group_at(std::uint64_t word, std::size_t place) {
  return (word >> (order_bit + order_bits * place) & 15) ^ place;
}

} // namespace

std::optional<Qlru> parse_qlru(std::string_view name) {
  if (name == "srrip") name = "QLRU_H00_M2_R0_U0_UMO";
  std::string_view rest = name;
  const auto take = [&](std::string_view text) {
    const bool present = rest.starts_with(text);
    if (present) rest.remove_prefix(text.size());
    return present;
  };
  const auto digit = [&](unsigned most) -> std::optional<unsigned> {
    if (rest.empty() || rest[0] < '0' || rest[0] > static_cast<char>('0' + most)) return {};
    const auto value = static_cast<unsigned>(rest[0] - '0');
    rest.remove_prefix(1);
    return value;
  };
  if (!take("QLRU_H")) return {};
  const auto of_3 = digit(2), of_2 = digit(1);
  if (!of_3 || !of_2 || *of_2 > *of_3 || !take("_M")) return {};
  const auto miss = digit(3);
  if (!miss || !take("_R")) return {};
  const auto replace = digit(2);
  if (!replace || !take("_U")) return {};
  const auto update = digit(3);
  if (!update) return {};
  const bool on_miss_only = take("_UMO");
  // Where no age is certain to be the oldest, only R1 finds a line.
  if (!rest.empty() || (*replace != 1 && *update > 1)) return {};
  return Qlru{{0, 0, *of_2, *of_3}, *miss, *replace, *update, on_miss_only};
}

Replacement::Replacement(Policy policy, const Qlru& qlru, std::size_t ways)
    : policy_(policy), qlru_(qlru), ways_(ways), leaves_(std::bit_ceil(ways)) {}

// Node n has the children 2n and 2n + 1, the leaves are leaves_ + way. A bit names the half that leaves next.
void Replacement::point_away(std::uint64_t& word, std::size_t way) const {
  for (std::size_t node = leaves_ + way; node > 1; node /= 2) {
    const std::uint64_t bit = std::uint64_t{1} << (node / 2);
    word = node % 2 == 0 ? word | bit : word & ~bit;
  }
}

void Replacement::move_to_front(std::uint64_t& word, std::size_t group) const {
  std::size_t moved = group;
  for (std::size_t place = 0; place < ways_ / group_ways; ++place) {
    const std::size_t here = group_at(word, place);
    const unsigned bit = order_bit + order_bits * static_cast<unsigned>(place);
    word = (word & ~(std::uint64_t{15} << bit)) | static_cast<std::uint64_t>(moved ^ place) << bit;
    if (here == group) return;
    moved = here;
  }
}

unsigned Replacement::age(std::uint64_t word, std::size_t way) const {
  return oldest - static_cast<unsigned>(word >> (2 * way) & 3);
}

void Replacement::set_age(std::uint64_t& word, std::size_t way, unsigned age) const {
  word = (word & ~(std::uint64_t{3} << (2 * way))) | std::uint64_t{oldest - age} << (2 * way);
}

/// `but`: the way accessed, or ways_.
void Replacement::update(std::uint64_t& word, std::size_t but) const {
  const bool spare = qlru_.update == 1 || qlru_.update == 3;
  unsigned greatest = 0;
  std::size_t counted = 0;
  for (std::size_t way = 0; way < ways_; ++way) {
    if (qlru_.update == 1 && way == but) continue;
    greatest = std::max(greatest, age(word, way));
    ++counted;
  }
  if (counted == 0 || greatest == oldest) return;
  const unsigned more = qlru_.update < 2 ? oldest - greatest : 1;
  for (std::size_t way = 0; way < ways_; ++way)
    if (!spare || way != but) set_age(word, way, age(word, way) + more);
}

void Replacement::used(std::uint64_t& word, std::size_t way, bool hit) const {
  switch (policy_) {
  case Policy::plru: return point_away(word, way);
  case Policy::lru_plru4: {
    const std::size_t group = way / group_ways, leaf = way % group_ways;
    const auto root = static_cast<unsigned>(tree_bits * group),
               inner = root + 1 + static_cast<unsigned>(leaf / 2);
    word &= ~(std::uint64_t{1} << root | std::uint64_t{1} << inner);
    word |= std::uint64_t{leaf < 2} << root | std::uint64_t{leaf % 2 == 0} << inner;
    return move_to_front(word, group);
  }
  case Policy::qlru:
    set_age(word, way, hit ? qlru_.hit[age(word, way)] : qlru_.miss);
    if (!qlru_.on_miss_only) update(word, way);
    return;
  default: return;
  }
}

void Replacement::missed(std::uint64_t& word) const {
  if (policy_ == Policy::qlru && qlru_.on_miss_only) update(word, ways_);
}

std::size_t Replacement::victim(std::uint64_t word) const {
  if (policy_ == Policy::lru_plru4) {
    const std::size_t group = group_at(word, ways_ / group_ways - 1);
    const std::size_t half = word >> (tree_bits * group) & 1;
    return group_ways * group + 2 * half + (word >> (tree_bits * group + 1 + half) & 1);
  }
  if (policy_ == Policy::qlru) {
    for (std::size_t way = 0; way < ways_; ++way)
      if (age(word, way) == oldest) return way;
    return 0;
  }
  std::size_t node = 1;
  while (node < leaves_)
    node = 2 * node + ((word >> node) & 1);
  return std::min(node - leaves_, ways_ - 1);
}

std::vector<std::uint64_t> xor_masks(std::int64_t sets) {
  const int k = std::countr_zero(static_cast<std::uint64_t>(sets));
  std::vector<std::uint64_t> masks;
  for (int i = 0; i < k; ++i)
    masks.push_back(std::uint64_t{1} << i | std::uint64_t{1} << (k + i));
  return masks;
}

SetIndex::SetIndex(std::uint64_t sets, std::span<const std::uint64_t> masks)
    : sets_(sets), mask_(masks.empty() && std::has_single_bit(sets) ? sets - 1 : no_mask) {
  for (std::size_t i = 0; i < masks.size(); ++i) {
    invertible_ = invertible_ && (masks[i] & (sets - 1)) == std::uint64_t{1} << i;
    for (std::uint64_t left = masks[i]; left != 0; left &= left - 1) {
      const int right = std::countr_zero(left) - static_cast<int>(i);
      auto term = std::ranges::find(terms_, right, &Term::right);
      if (term == terms_.end()) term = terms_.insert(term, {right, 0});
      term->mask |= std::uint64_t{1} << i;
    }
  }
  if (hashed() && std::ranges::equal(masks, xor_masks(static_cast<std::int64_t>(sets))))
    fold_ = static_cast<unsigned>(std::countr_zero(sets));
}

Sets::Sets(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed)
    : ways_(ways),
      index_(index),
      policy_(policy),
      replacement_(policy, qlru, ways),
      entries_(index.sets() * ways),
      links_(ordered(policy) ? entries_.size() : 0),
      newest_(ordered(policy) ? index.sets() : 0),
      words_(has_word(policy) ? index.sets() : 0),
      seed_(seed) {
  clear();
}

/// The place of a line; the number of ways if it is absent.
std::size_t Sets::find(std::uint64_t set, std::uint64_t line) const {
  if (ways_ > many_ways) {
    const auto found = places_.find(line);
    return found == places_.end() ? ways_ : found->second;
  }
  const Entry* const entries = entries_.data() + set * ways_;
  std::size_t place = 0;
  while (place < ways_ && entries[place] >> 1 != line)
    ++place;
  return place;
}

/// Moves a place in the ring of its set.
void Sets::move_before(std::uint64_t set, Number place, Number other) {
  Link* const links = links_.data() + set * ways_;
  Link& here = links[place];
  links[here.before].after = here.after;
  links[here.after].before = here.before;
  here = {links[other].before, other};
  links[here.before].after = place;
  links[other].before = place;
}

bool Sets::use(std::uint64_t line, bool dirty) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return false;
  entries_[set * ways_ + place] |= Entry{dirty};
  if (policy_ == Policy::lru) {
    const auto used = static_cast<Number>(place);
    if (used != newest_[set]) move_before(set, used, std::exchange(newest_[set], used));
  } else if (!words_.empty()) {
    replacement_.used(words_[set], place, true);
  }
  return true;
}

std::size_t Sets::victim(std::uint64_t set) {
  const Entry* const entries = entries_.data() + set * ways_;
  std::size_t free = ways_;
  for (std::size_t place = 0; place < ways_ && (free == ways_ || replacement_.takes_last_free()); ++place)
    if (entries[place] == empty) free = place;
  if (free < ways_) return free;
  if (policy_ == Policy::random) return static_cast<std::size_t>(base::random_below(random_, ways_));
  return replacement_.victim(words_[set]);
}

Sets::Entry Sets::insert(std::uint64_t line, bool dirty) {
  const std::uint64_t set = index_(line);
  if (!words_.empty()) replacement_.missed(words_[set]);
  const std::size_t place =
      ordered(policy_) ? links_[set * ways_ + newest_[set]].before : victim(set); // the last of the ring
  Entry& entry = entries_[set * ways_ + place];
  if (ways_ > many_ways && entry != empty) { // its node goes on: nothing is allocated
    auto node = places_.extract(entry >> 1);
    node.key() = line;
    node.mapped() = static_cast<Number>(place);
    places_.insert(std::move(node));
  } else if (ways_ > many_ways) {
    places_.emplace(line, static_cast<Number>(place));
  }
  if (ordered(policy_))
    newest_[set] = static_cast<Number>(place); // the ring turns
  else if (!words_.empty())
    replacement_.used(words_[set], place, false);
  return std::exchange(entry, line << 1 | Entry{dirty});
}

Sets::Entry Sets::remove(std::uint64_t line) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return empty;
  places_.erase(line);
  if (ordered(policy_)) { // to the end of the order
    const auto removed = static_cast<Number>(place);
    Number& newest = newest_[set];
    if (removed == newest)
      newest = links_[set * ways_ + place].after;
    else
      move_before(set, removed, newest);
  }
  return std::exchange(entries_[set * ways_ + place], empty);
}

bool Sets::clean(std::uint64_t line) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return false;
  Entry& entry = entries_[set * ways_ + place];
  return (std::exchange(entry, entry & ~Entry{1}) & 1) != 0;
}

void Sets::read(std::uint64_t set, std::span<Entry> out) const {
  const auto entries = std::span(entries_).subspan(set * ways_, ways_);
  if (!ordered(policy_)) {
    std::ranges::copy(entries, out.begin());
    return;
  }
  Number place = newest_[set];
  for (Entry& entry : out) {
    entry = entries[place];
    place = links_[set * ways_ + place].after;
  }
}

void Sets::save_policy(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), words_.begin(), words_.end());
  if (policy_ == Policy::random) words.push_back(random_);
}

void Sets::clear() {
  std::ranges::fill(entries_, empty);
  places_.clear();
  std::ranges::fill(newest_, 0);
  const auto ways = static_cast<Number>(ways_);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto place = static_cast<Number>(i % ways_);
    links_[i] = {(place + ways - 1) % ways, (place + 1) % ways};
  }
  std::ranges::fill(words_, 0);
  random_ = seed_;
}

} // namespace recount::model
