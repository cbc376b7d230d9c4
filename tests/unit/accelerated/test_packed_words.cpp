// Packed words: every field is read back as it was written, at its limits and anywhere between.
#include "../model/random_machine.hpp"
#include "model/accelerated/packed_words.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount::model;

namespace {

/// A limit as often as a value between.
std::int64_t value(Chance& chance, std::int64_t low, std::int64_t high) {
  return chance.one_in(4) ? low : chance.one_in(3) ? high : chance.from(low, high);
}
std::uint32_t number(Chance& chance, std::int64_t high) {
  return static_cast<std::uint32_t>(value(chance, 0, high));
}

} // namespace

BOOST_AUTO_TEST_SUITE(packed_words)

BOOST_AUTO_TEST_CASE(unpack_inverts_pack) {
  constexpr std::int64_t any32 = 0xffffffff;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Chance chance(seed);
    const EntryWord entry{number(chance, 63), chance.one_in(2),
                          value(chance, -EntryWord::reach, EntryWord::reach - 1)};
    const EntryWord entry_read = EntryWord::unpack(entry.pack());
    BOOST_TEST(entry_read.slot == entry.slot);
    BOOST_TEST(entry_read.dirty == entry.dirty);
    BOOST_TEST(entry_read.distance == entry.distance);
    const OutcomeWord outcome{number(chance, any32), number(chance, any32)};
    BOOST_TEST(OutcomeWord::unpack(outcome.pack()).counts == outcome.counts);
    BOOST_TEST(OutcomeWord::unpack(outcome.pack()).pieces == outcome.pieces);
    const CountWord count{number(chance, 255), value(chance, 0, (std::int64_t{1} << 56) - 1)};
    BOOST_TEST(CountWord::unpack(count.pack()).counter == count.counter);
    BOOST_TEST(CountWord::unpack(count.pack()).by == count.by);
    const PieceWord piece{number(chance, any32), number(chance, 62),
                          value(chance, -(1 << 25), (1 << 25) - 1)};
    const PieceWord piece_read = PieceWord::unpack(piece.pack());
    BOOST_TEST(piece_read.id == piece.id);
    BOOST_TEST(piece_read.slot == piece.slot);
    BOOST_TEST(piece_read.distance == piece.distance);
    const EventWord event{number(chance, any32), static_cast<Cause>(number(chance, causes - 1)),
                          chance.one_in(2), number(chance, 63), number(chance, 0x3fffff)};
    const EventWord event_read = EventWord::unpack(event.pack());
    BOOST_TEST(event_read.tag == event.tag);
    BOOST_TEST((event_read.cause == event.cause));
    BOOST_TEST(event_read.writes == event.writes);
    BOOST_TEST(event_read.from == event.from);
    BOOST_TEST(event_read.count == event.count);
    const ChildWord child{number(chance, ChildWord::most), number(chance, any32),
                          value(chance, -ChildWord::reach, ChildWord::reach - 1),
                          number(chance, ChildWord::most)};
    const ChildWord child_read = ChildWord::unpack(child.pack());
    BOOST_TEST(child_read.at == child.at);
    BOOST_TEST(child_read.id == child.id);
    BOOST_TEST(child_read.line == child.line);
    BOOST_TEST(child_read.times == child.times);
  }
}

BOOST_AUTO_TEST_CASE(traces_of_a_state_have_different_words) {
  BOOST_TEST((TraceWord{1, 2, false}.pack() != TraceWord{1, 2, true}.pack()));
  BOOST_TEST((TraceWord{1, 2, false}.pack() != TraceWord{2, 1, false}.pack()));
  BOOST_TEST((TraceWord{0xffffffff, 0, false}.pack() != TraceWord{0xffffffff, 1, false}.pack()));
}

BOOST_AUTO_TEST_SUITE_END()
