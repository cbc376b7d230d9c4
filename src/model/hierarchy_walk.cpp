// Page walks, and translation where pages of two sizes are mixed.
#include "model/hierarchy.hpp"

namespace recount::model {

// Small and huge pages. The page before is the only one known to be the most recent in its set.
void Hierarchy::translate_mixed(std::uint64_t address, Cause cause) {
  const std::uint64_t page = address >> tlb_->page_shift();
  if (page == newest_pages_[0]) return;
  newest_pages_[0] = page;
  if (!physical_->huge(address)) {
    if (!tlb_->translate(page, cause)) walk(page);
    return;
  }
  const unsigned small_in_huge = tlb_->huge_shift() - tlb_->page_shift();
  if (!tlb_->translate_huge(page >> small_in_huge, cause))
    walk(page >> small_in_huge << small_in_huge, tlb_->fewer_tables());
}

// `last`: the level of the page table that holds the entry of the page; above 0 for a huge one.
void Hierarchy::walk(std::uint64_t page, std::size_t last) {
  constexpr unsigned level_bits = 9; // 512 entries of 8 bytes in a page of the table
  std::vector<Level>& caches = tlb_->walk;
  const auto key = [&](std::size_t above) { return page >> (level_bits * above); };
  std::size_t missed = last;
  while (missed < caches.size() && !caches[missed].use(key(missed + 1), false))
    ++missed;
  for (std::size_t above = missed; above > last; --above) {
    caches[above - 1].insert(key(above), false);
    read_entry(page_table + above * table_above + 8 * key(above));
  }
  read_entry(page_table + last * table_above + 8 * key(last));
}

void Hierarchy::read_entry(std::uint64_t entry) {
  const std::uint64_t address = physical_ ? (*physical_)(entry) : entry, line = address >> shift_;
  Level::Entry& newest = newest_[line & newest_mask_];
  if (!simple_) {
    newest = Level::empty;
    request(0, address, Cause::walk, false);
    return;
  }
  ++levels_.front().counts.accesses[number(Cause::walk)];
  if (first_ != Level::Kind::wide && newest >> 1 == line) return;
  newest = line << 1;
  if (!levels_.front().use(line, false)) bring(address, Cause::walk, false);
}

} // namespace recount::model
