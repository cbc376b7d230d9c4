#include "model/replacement.hpp"

#include <algorithm>
#include <bit>

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
    const bool there = rest.starts_with(text);
    if (there) rest.remove_prefix(text.size());
    return there;
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

} // namespace recount::model
