#include "model/packed_sets.hpp"

namespace recount::model {

PackedSets::Entry PackedSets::remove(std::uint64_t line) {
  std::uint64_t* const set = set_of(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return empty;
  const Entry entry = entries(set)[place];
  entries(set)[place] = empty;
  // To the end of the order, the others closing up.
  set[tags_] = to_front(set[tags_], place);
  const std::uint64_t all = ways_ == most_ways ? ~std::uint64_t{0} : (std::uint64_t{1} << (4 * ways_)) - 1;
  const std::uint64_t order = set[tags_] & all;
  set[tags_] = order >> 4 | std::uint64_t{place} << last_shift_;
  return entry;
}

void PackedSets::read(std::uint64_t number, std::span<Entry> out) const {
  const std::uint64_t* const set = words_.data() + number * stride_;
  std::uint64_t order = set[tags_];
  for (Entry& entry : out) {
    entry = entries(set)[order & 15];
    order >>= 4;
  }
}

void PackedSets::write(std::uint64_t number, std::span<const Entry> in) {
  std::uint64_t* const set = words_.data() + number * stride_;
  set[tags_] = 0xfedcba9876543210;
  for (std::size_t place = 0; place < in.size(); ++place) {
    entries(set)[place] = in[place];
    set_tag(set, place, in[place] == empty ? 0 : tag_of(in[place] >> 1));
  }
}

void PackedSets::clear() {
  const std::vector<Entry> none(ways_, empty);
  for (std::uint64_t set = 0; set < index_.sets(); ++set)
    write(set, none);
}

} // namespace recount::model
