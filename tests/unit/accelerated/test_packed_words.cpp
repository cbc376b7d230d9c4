// Packed words: every field is read back as it was written, at its limits and anywhere between.
#include "../model/random_machine.hpp"
#include "model/accelerated/packed_words.hpp"

#include <boost/test/unit_test.hpp>

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
    const model::EntryWord entry{model::number(chance, 63), chance.one_in(2),
                                 value(chance, -model::EntryWord::reach, model::EntryWord::reach - 1)};
    const model::EntryWord entry_read = model::EntryWord::unpack(entry.pack());
    BOOST_TEST(entry_read.slot == entry.slot);
    BOOST_TEST(entry_read.dirty == entry.dirty);
    BOOST_TEST(entry_read.distance == entry.distance);
    const model::OutcomeWord outcome{model::number(chance, any32), model::number(chance, any32)};
    BOOST_TEST(model::OutcomeWord::unpack(outcome.pack()).counts == outcome.counts);
    BOOST_TEST(model::OutcomeWord::unpack(outcome.pack()).pieces == outcome.pieces);
    const model::CountWord count{model::number(chance, 255), value(chance, 0, (std::int64_t{1} << 56) - 1)};
    BOOST_TEST(model::CountWord::unpack(count.pack()).counter == count.counter);
    BOOST_TEST(model::CountWord::unpack(count.pack()).by == count.by);
    const model::PieceWord piece{model::number(chance, any32), model::number(chance, 62),
                                 value(chance, -(1 << 25), (1 << 25) - 1)};
    const model::PieceWord piece_read = model::PieceWord::unpack(piece.pack());
    BOOST_TEST(piece_read.id == piece.id);
    BOOST_TEST(piece_read.slot == piece.slot);
    BOOST_TEST(piece_read.distance == piece.distance);
    const model::EventWord event{
        model::number(chance, any32), static_cast<model::Cause>(model::number(chance, model::causes - 1)),
        chance.one_in(2), model::number(chance, 63), model::number(chance, 0x3fffff)};
    const model::EventWord event_read = model::EventWord::unpack(event.pack());
    BOOST_TEST(event_read.tag == event.tag);
    BOOST_TEST((event_read.cause == event.cause));
    BOOST_TEST(event_read.writes == event.writes);
    BOOST_TEST(event_read.from == event.from);
    BOOST_TEST(event_read.count == event.count);
    const model::ChildWord child{model::number(chance, model::ChildWord::most), model::number(chance, any32),
                                 value(chance, -model::ChildWord::reach, model::ChildWord::reach - 1),
                                 model::number(chance, model::ChildWord::most)};
    const model::ChildWord child_read = model::ChildWord::unpack(child.pack());
    BOOST_TEST(child_read.at == child.at);
    BOOST_TEST(child_read.id == child.id);
    BOOST_TEST(child_read.line == child.line);
    BOOST_TEST(child_read.times == child.times);
  }
}

BOOST_AUTO_TEST_CASE(traces_of_a_state_have_different_words) {
  BOOST_TEST((model::TraceWord{1, 2, false}.pack() != model::TraceWord{1, 2, true}.pack()));
  BOOST_TEST((model::TraceWord{1, 2, false}.pack() != model::TraceWord{2, 1, false}.pack()));
  BOOST_TEST(
      (model::TraceWord{0xffffffff, 0, false}.pack() != model::TraceWord{0xffffffff, 1, false}.pack()));
}

BOOST_AUTO_TEST_SUITE_END()
