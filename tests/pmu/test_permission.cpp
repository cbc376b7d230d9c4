// A user without capabilities on a simulated machine: perf_event_paranoid = 2, perf_event_mlock_kb = 16.
#include "events.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <filesystem>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(permission)

namespace {

int map_errno(const EventFd& event, std::size_t pages, std::vector<void*>& mapped) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const at = ::mmap(nullptr, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd(), 0);
  if (at == MAP_FAILED) return errno;
  mapped.push_back(at);
  return 0;
}

/// Value, enabled and running time of a program counted from its exec on.
std::vector<std::uint64_t> counted(const std::filesystem::path& program) {
  int go[2];
  BOOST_REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char c = 0;
    if (read(go[0], &c, 1) != 1) _exit(1);
    execl(program.c_str(), program.c_str(), "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done", nullptr);
    _exit(127);
  }
  auto attr = hardware();
  attr.enable_on_exec = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  EventFd event(attr, child);
  BOOST_TEST(event.error() == 0);
  BOOST_TEST(write(go[1], "x", 1) == 1);
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  ::close(go[0]);
  ::close(go[1]);
  return event.words();
}

} // namespace

BOOST_AUTO_TEST_CASE(user_mode_alone_may_be_counted) {
  auto attr = hardware();
  BOOST_TEST(EventFd(attr).error() == 0);
  attr.exclude_kernel = 0;
  BOOST_TEST(EventFd(attr).error() == EACCES);
  BOOST_TEST(EventFd(hardware(), -1, 0).error() == EACCES);
  auto clock = software();
  clock.exclude_kernel = 0;
  BOOST_TEST(EventFd(clock).error() == EACCES);
}

BOOST_AUTO_TEST_CASE(rings_beyond_the_limit_are_refused) {
  rlimit none{};
  getrlimit(RLIMIT_MEMLOCK, &none);
  none.rlim_cur = 0;
  BOOST_REQUIRE(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
  auto attr = hardware();
  attr.sample_period = 1000;
  EventFd first(attr), second(attr);
  std::vector<void*> mapped;
  const auto pages = static_cast<std::size_t>(4 * sysconf(_SC_NPROCESSORS_ONLN)); // 16 KiB for each CPU
  std::size_t half = 1;
  while (4 * half <= pages)
    half *= 2;
  EventFd of_linux(software());
  if (map_errno(of_linux, 0, mapped) == EPERM) // counted for the user, in all processes
    return test::skip("this user's processes have locked as much memory for rings as Linux allows");
  BOOST_TEST(map_errno(first, half, mapped) == 0);
  BOOST_TEST(map_errno(second, 2 * half, mapped) == EPERM);
  BOOST_TEST(map_errno(second, 0, mapped) == 0); // the page alone is no ring
}

BOOST_AUTO_TEST_CASE(a_set_user_id_program_is_not_counted) {
  const std::filesystem::path shell = std::filesystem::canonical("/bin/sh");
  const auto counted_shell = counted(shell);
  BOOST_REQUIRE_EQUAL(counted_shell.size(), 3U);
  BOOST_TEST(counted_shell[0] > 0U);
  const auto copy = std::filesystem::temp_directory_path() / ("recount-pmu-sh-" + std::to_string(getpid()));
  std::filesystem::copy_file(shell, copy);
  std::filesystem::permissions(copy, std::filesystem::perms::set_uid, std::filesystem::perm_options::add);
  const auto words = counted(copy);
  std::filesystem::remove(copy);
  BOOST_REQUIRE_EQUAL(words.size(), 3U);
  BOOST_TEST(words[0] == 0U);
  BOOST_TEST(words[1] == 0U);
  BOOST_TEST(words[2] == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
