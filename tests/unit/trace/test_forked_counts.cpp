// Of recount emulate: a forked process counts by its own pauses, whatever its parent has done since.
#include "model/emulate/server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <unistd.h>

namespace {
using namespace recount;

constexpr std::uint64_t forked_pid = 1 << 22; // PID_MAX_LIMIT: nobody has it

void append(std::vector<std::uint64_t>& words, std::uint64_t kind, std::vector<std::uint64_t> record) {
  words.push_back(RT_WORD(kind, record.size()));
  words.insert(words.end(), record.begin(), record.end());
}
std::uint64_t thread_word(std::uint64_t tid) {
  return RT_WORD(RT_THREAD, 1 | tid << 16);
}

/// What an event of instructions counts of a child that executes one after `first`, read while its parent is
/// paused.
double count_of_child(const std::vector<std::uint64_t>& first) {
  ::setenv("RECOUNT_PMU_MACHINE", RECOUNT_MACHINES "/skl.pmu", 1);
  ::setenv("RECOUNT_PMU_OPTIONS", "exact 1;unbacked 1", 1);
  emulate::CountServer server(emulate::settings().machine);
  const auto own = static_cast<std::uint32_t>(::getpid());
  const auto parent = server.begin(own, 1);
  std::vector<std::uint64_t> words{thread_word(own)};
  append(words, RT_REQUEST, {RT_PAUSE, 0, 0, 0});
  append(words, RT_DEFINE, {0, 1, RT_INSTRUCTION(0x1000, 1, RT_PLAIN)});
  append(words, RT_CODE, {0, 0x90});
  BOOST_REQUIRE(parent->take(words));
  const auto child = parent->forked(forked_pid);

  std::int32_t at = 0;
  {
    const emulate::Locked shared;
    at = emulate::take_slot(*shared);
    emulate::Slot& slot = shared->slots[at];
    slot.simulated = slot.enabled = slot.foreign = true;
    slot.target = static_cast<pid_t>(forked_pid);
    slot.leader = at;
    slot.config = 0xc0; // INST_RETIRED.ANY_P
  }
  words = {thread_word(forked_pid)};
  words.insert(words.end(), first.begin(), first.end());
  words.push_back(RT_WORD(RT_BLOCK, 0));
  append(words, RT_REQUEST, {RT_SYNC, forked_pid, 0, 0});
  BOOST_REQUIRE(child->take(words) && child->waits());
  BOOST_REQUIRE(child->answer());
  const emulate::Locked shared;
  shared->slots[at].used = false;
  return shared->slots[at].value;
}

BOOST_AUTO_TEST_CASE(pause_that_parent_began_after_fork_is_not_the_childs) {
  BOOST_TEST(count_of_child({}) == 1);
}

BOOST_AUTO_TEST_CASE(pause_that_child_repeats_is_its_own) {
  BOOST_TEST(count_of_child({RT_WORD(RT_REQUEST, 4), RT_PAUSE, 0, 0, 0}) == 0);
}

} // namespace
