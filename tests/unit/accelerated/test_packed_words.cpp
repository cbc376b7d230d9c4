// Packed words: every field is read back as it was written, at its limits and anywhere between.
#include "../model/random_machine.hpp"
#include "model/accelerated/packed_words.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(packed_words)

namespace {

/// A limit as often as a value between.
std::int64_t value(Chance& chance, std::int64_t low, std::int64_t high) {
  return chance.one_in(4) ? low : chance.one_in(3) ? high : chance.from(low, high);
}
std::uint32_t number(Chance& chance, std::int64_t high) {
  return static_cast<std::uint32_t>(value(chance, 0, high));
}

} // namespace

BOOST_AUTO_TEST_CASE(unpack_inverts_pack) {
  constexpr std::int64_t any32 = 0xffffffff;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Chance chance(seed);
    const recount::model::EntryWord entry{
        number(chance, 63), chance.one_in(2),
        value(chance, -recount::model::EntryWord::reach, recount::model::EntryWord::reach - 1)};
    const recount::model::EntryWord entry_read = recount::model::EntryWord::unpack(entry.pack());
    BOOST_TEST(entry_read.slot == entry.slot);
    BOOST_TEST(entry_read.dirty == entry.dirty);
    BOOST_TEST(entry_read.distance == entry.distance);
    const recount::model::OutcomeWord outcome{number(chance, any32), number(chance, any32)};
    BOOST_TEST(recount::model::OutcomeWord::unpack(outcome.pack()).counts == outcome.counts);
    BOOST_TEST(recount::model::OutcomeWord::unpack(outcome.pack()).pieces == outcome.pieces);
    const recount::model::CountWord count{number(chance, 255), value(chance, 0, (std::int64_t{1} << 56) - 1)};
    BOOST_TEST(recount::model::CountWord::unpack(count.pack()).counter == count.counter);
    BOOST_TEST(recount::model::CountWord::unpack(count.pack()).by == count.by);
    const recount::model::PieceWord piece{number(chance, any32), number(chance, 62),
                                          value(chance, -(1 << 25), (1 << 25) - 1)};
    const recount::model::PieceWord piece_read = recount::model::PieceWord::unpack(piece.pack());
    BOOST_TEST(piece_read.id == piece.id);
    BOOST_TEST(piece_read.slot == piece.slot);
    BOOST_TEST(piece_read.distance == piece.distance);
    const recount::model::EventWord event{
        number(chance, any32), static_cast<recount::model::Cause>(number(chance, recount::model::causes - 1)),
        chance.one_in(2), number(chance, 63), number(chance, 0x3fffff)};
    const recount::model::EventWord event_read = recount::model::EventWord::unpack(event.pack());
    BOOST_TEST(event_read.tag == event.tag);
    BOOST_TEST((event_read.cause == event.cause));
    BOOST_TEST(event_read.writes == event.writes);
    BOOST_TEST(event_read.from == event.from);
    BOOST_TEST(event_read.count == event.count);
    const recount::model::ChildWord child{
        number(chance, recount::model::ChildWord::most), number(chance, any32),
        value(chance, -recount::model::ChildWord::reach, recount::model::ChildWord::reach - 1),
        number(chance, recount::model::ChildWord::most)};
    const recount::model::ChildWord child_read = recount::model::ChildWord::unpack(child.pack());
    BOOST_TEST(child_read.at == child.at);
    BOOST_TEST(child_read.id == child.id);
    BOOST_TEST(child_read.line == child.line);
    BOOST_TEST(child_read.times == child.times);
  }
}

BOOST_AUTO_TEST_CASE(traces_of_a_state_have_different_words) {
  BOOST_TEST((recount::model::TraceWord{1, 2, false}.pack() != recount::model::TraceWord{1, 2, true}.pack()));
  BOOST_TEST(
      (recount::model::TraceWord{1, 2, false}.pack() != recount::model::TraceWord{2, 1, false}.pack()));
  BOOST_TEST((recount::model::TraceWord{0xffffffff, 0, false}.pack() !=
              recount::model::TraceWord{0xffffffff, 1, false}.pack()));
}

BOOST_AUTO_TEST_SUITE_END()
