// Interface is counted: processes to come, threads, and another process, to the instruction.
#include "loop.hpp"

#include <recount/group.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace recount;
using namespace recount::test;

namespace {

constexpr std::uint64_t many = 1'000'000;

using Work = void (*)(std::uint64_t rounds);

[[gnu::noipa]] std::uint64_t counted(Group& group, Work work, std::uint64_t rounds) {
  group.reset();
  group.start();
  work(rounds);
  group.stop();
  return group.read()[0].value.value();
}

/// What so many rounds of `work` more add. Starting and ending children costs the same each time, as long as
/// the parent has come to wait for them.
std::uint64_t added(bool inherit, Work work) {
  GroupOptions options;
  options.inherit = inherit;
  Group group({"perf::INSTRUCTIONS"}, Domain::user, options);
  for (int i = 0; i < 4; ++i)
    counted(group, work, many); // the libraries' caches fill
  const std::uint64_t once = counted(group, work, many);
  return counted(group, work, 2 * many) - once;
}

[[gnu::noipa]] void in_forks(std::uint64_t rounds) {
  pid_t children[3];
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    spin(rounds);
    _exit(0);
  }
  for (const pid_t child : children)
    waitpid(child, nullptr, 0);
}

[[gnu::noipa]] void in_grandchild(std::uint64_t rounds) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      spin(rounds);
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

[[gnu::noipa]] void in_thread(std::uint64_t rounds) {
  std::thread([rounds] { spin(rounds); }).join();
}

/// Instructions and cycles of a child that was stopped when it was attached to.
[[gnu::noipa]] std::pair<std::uint64_t, std::uint64_t> counted_outside(std::uint64_t rounds) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    spin(rounds);
    _exit(0);
  }
  waitpid(child, nullptr, WUNTRACED);
  GroupOptions options;
  options.pid = child;
  Group group({"perf::INSTRUCTIONS", "perf::CYCLES"}, Domain::user, options);
  group.start();
  spin(many); // ours: not counted
  kill(child, SIGCONT);
  waitpid(child, nullptr, 0);
  const auto counts = group.read();
  return {counts[0].value.value(), counts[1].value.value()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(targets)

BOOST_AUTO_TEST_CASE(children_and_grandchildren_are_counted_when_inherited) {
  BOOST_TEST(added(true, in_forks) == 3 * 2 * many);
  BOOST_TEST(added(true, in_grandchild) == 2 * many);
  // Interface comes first, the thread to its end or its starter to waiting for it, changes what the C library
  // executes.
  const std::uint64_t thread = added(true, in_thread);
  BOOST_TEST(thread > 2 * many - 5000);
  BOOST_TEST(thread < 2 * many + 5000);
}

BOOST_AUTO_TEST_CASE(children_are_left_out_when_not_inherited) {
  BOOST_TEST(added(false, in_forks) == 0U);
  const auto of_thread = static_cast<std::int64_t>(added(false, in_thread));
  BOOST_TEST(of_thread > -5000);
  BOOST_TEST(of_thread < 5000);
}

BOOST_AUTO_TEST_CASE(another_process_is_counted_from_outside) {
  const auto one = counted_outside(1), all = counted_outside(many + 1);
  BOOST_TEST(all.first - one.first == 2 * many);
  BOOST_TEST(all.second - one.second == 2 * many * cycles_per_instruction());
}

BOOST_AUTO_TEST_SUITE_END()
