// Children really started: descriptors, limits, signals, failures of exec.
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/process/waiter.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace recount::process;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(child)

namespace {
Captured sh(const std::string& script, std::string_view input = {}) {
  return capture({.argv = {"sh", "-c", script}}, input, 20s);
}
bool alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}
} // namespace

BOOST_AUTO_TEST_CASE(both_outputs_and_the_status_are_told_apart) {
  const auto got = sh("echo one; echo two >&2; exit 7");
  BOOST_TEST(got.out == "one\n");
  BOOST_TEST(got.err == "two\n");
  BOOST_TEST(got.exit.code == 7);
  BOOST_TEST(!got.exit.ok());
  BOOST_TEST(describe(got.exit) == "exit status 7");
}

BOOST_AUTO_TEST_CASE(a_crash_is_told_by_the_name_of_its_signal) {
  const auto got = sh("kill -SEGV $$");
  BOOST_TEST((got.exit.how == Exit::How::signalled));
  BOOST_TEST(describe(got.exit) == "killed by signal 11 (SIGSEGV)");
}

BOOST_AUTO_TEST_CASE(input_larger_than_a_pipe_comes_back_whole) {
  std::string input;
  while (input.size() < 3'000'000)
    input += std::to_string(input.size()) + "\n";
  const auto got = capture({.argv = {"cat"}}, input, 20s);
  BOOST_TEST((got.out == input));
}

BOOST_AUTO_TEST_CASE(output_is_cut_and_the_child_still_ends) {
  const auto got = capture({.argv = {"head", "-c", "1000000", "/dev/zero"}}, {}, 20s, 1000);
  BOOST_TEST(got.out.size() == 1000U);
  BOOST_TEST(got.exit.ok());
}

BOOST_AUTO_TEST_CASE(input_that_nobody_reads_does_no_harm) {
  BOOST_TEST(capture({.argv = {"true"}}, std::string(1 << 20, 'x'), 20s).exit.ok());
}

BOOST_AUTO_TEST_CASE(without_input_stdin_is_empty) {
  BOOST_TEST(sh("cat; echo end").out == "end\n");
}

BOOST_AUTO_TEST_CASE(a_missing_program_is_named_with_a_fix) {
  try {
    Child child(Spawn{.argv = {"no-such-program-here"}});
    BOOST_FAIL("started a program that is not there");
  } catch (const recount::Error& e) {
    BOOST_TEST((e.kind() == recount::ErrorKind::unavailable));
    BOOST_TEST(e.problem().subject == "no-such-program-here");
    BOOST_TEST(e.problem().cause == "program not found in PATH");
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_exec_refuses_is_named_with_the_errno) {
  try {
    Child child(Spawn{.argv = {"/etc/passwd"}});
    BOOST_FAIL("ran a text file");
  } catch (const recount::Error& e) {
    BOOST_TEST(e.problem().cause == "cannot be run: Permission denied");
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_has_the_status_that_a_shell_gives_it) {
  const auto status = [](const std::string& program) {
    try {
      Child child(Spawn{.argv = {program}});
    } catch (const CannotRun& e) {
      return e.status();
    }
    return 0;
  };
  BOOST_TEST(status("no-such-program-here") == 127);
  BOOST_TEST(status("/no/such/program") == 127);
  BOOST_TEST(status("/etc/passwd") == 126);
  BOOST_TEST(status("/") == 126);
}

BOOST_AUTO_TEST_CASE(a_held_child_is_there_and_runs_nothing_until_it_is_released) {
  Pipe out;
  Child child(Spawn{.argv = {"sh", "-c", "echo ran; exit 5"}, .out = out.write.get(), .held = true});
  out.write.reset();
  BOOST_TEST(alive(child.pid()));
  BOOST_TEST(!child.wait_for(50ms).has_value());
  child.release();
  BOOST_TEST(child.wait(20s).code == 5);
  char text[8] = {};
  BOOST_TEST(::read(out.read.get(), text, sizeof text) == 4);
}

BOOST_AUTO_TEST_CASE(a_held_child_tells_when_released_that_it_cannot_be_run) {
  Child child(Spawn{.argv = {"/etc/passwd"}, .held = true});
  BOOST_CHECK_THROW(child.release(), CannotRun);
}

BOOST_AUTO_TEST_CASE(a_child_that_cannot_be_held_tells_at_once) {
  BOOST_CHECK_THROW(Child(Spawn{.argv = {"true"}, .cpu = 1 << 20, .held = true}), recount::Error);
}

BOOST_AUTO_TEST_CASE(a_held_child_may_die_before_it_is_released) {
  Child child(Spawn{.argv = {"true"}, .held = true});
  child.signal(SIGTERM);
  BOOST_TEST(!child.wait_for(20s)->ok());
  child.release();
  BOOST_TEST(child.wait().code == SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_cpu_that_is_not_there_is_an_error) {
  BOOST_CHECK_THROW(Child(Spawn{.argv = {"true"}, .cpu = 1023}), recount::Error);
  BOOST_CHECK_THROW(Child(Spawn{.argv = {"true"}, .cpu = 1 << 20}), recount::Error);
}

BOOST_AUTO_TEST_CASE(a_child_over_its_time_is_killed_with_its_whole_group) {
  const auto begin = std::chrono::steady_clock::now();
  const auto got = capture({.argv = {"sh", "-c", "sleep 100 & echo $!; wait"}}, {}, 300ms);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 50s));
  BOOST_TEST((got.exit.how == Exit::How::timed_out));
  BOOST_TEST(describe(got.exit) == "still running after 0.3 s, killed");
  const pid_t grandchild = std::stoi(got.out);
  for (int i = 0; i < 1000 && alive(grandchild); ++i)
    std::this_thread::sleep_for(5ms);
  BOOST_TEST(!alive(grandchild));
}

BOOST_AUTO_TEST_CASE(a_grandchild_that_keeps_the_pipe_open_is_not_waited_for) {
  const auto begin = std::chrono::steady_clock::now();
  const auto got = capture({.argv = {"sh", "-c", "sleep 30 & echo $!"}});
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 20s));
  ::kill(std::stoi(got.out), SIGKILL);
}

BOOST_AUTO_TEST_CASE(wait_for_kills_nothing_and_wait_repeats_its_answer) {
  Pipe gate;
  Child child(Spawn{.argv = {"cat"}, .in = gate.read.get()});
  BOOST_TEST(!child.wait_for(30ms).has_value());
  gate.write.reset();
  gate.read.reset();
  BOOST_TEST(child.wait(20s).ok());
  BOOST_TEST(child.wait().ok());
}

BOOST_AUTO_TEST_CASE(a_child_out_of_scope_is_gone) {
  pid_t pid = -1;
  {
    Child child(Spawn{.argv = {"sleep", "100"}});
    pid = child.pid();
    BOOST_TEST(alive(pid));
  }
  BOOST_TEST(!alive(pid));
}

BOOST_AUTO_TEST_CASE(descriptors_may_swap_places_and_nothing_else_gets_through) {
  Pipe a, b;
  // Each lands on the number of the other; a naive dup2 in order would lose one of them.
  Spawn spawn{.argv = {"sh", "-c", "echo to-a >&$A; echo to-b >&$B; ls /proc/self/fd | wc -l"}};
  spawn.descriptors = {{a.write.get(), b.write.get()}, {b.write.get(), a.write.get()}};
  spawn.environment = {{"A", std::to_string(b.write.get())}, {"B", std::to_string(a.write.get())}};
  if (a.write.get() > 9 || b.write.get() > 9) { // dash takes one digit only
    spawn.argv[0] = "bash";
  }
  const auto got = capture(spawn, {}, 20s);
  BOOST_TEST(got.exit.ok(), got.err);
  char text[16] = {};
  BOOST_TEST(::read(a.read.get(), text, sizeof text) == 5);
  BOOST_TEST(std::string(text) == "to-a\n");
  std::memset(text, 0, sizeof text);
  BOOST_TEST(::read(b.read.get(), text, sizeof text) == 5);
  BOOST_TEST(std::string(text) == "to-b\n");
  BOOST_TEST(std::stoi(got.out) == 6); // 0 1 2, our two, and the one ls itself opens
}

BOOST_AUTO_TEST_CASE(the_environment_is_inherited_and_set_beside) {
  ::setenv("RECOUNT_TEST_KEPT", "kept", 1);
  ::setenv("RECOUNT_TEST_CHANGED", "before", 1);
  Spawn spawn{.argv = {"sh", "-c", "echo $RECOUNT_TEST_KEPT $RECOUNT_TEST_CHANGED"}};
  spawn.environment = {{"RECOUNT_TEST_CHANGED", "after"}};
  BOOST_TEST(capture(spawn).out == "kept after\n");
}

BOOST_AUTO_TEST_CASE(limits_hold_in_the_child) {
  BOOST_TEST(capture({.argv = {"sh", "-c", "ulimit -v"}, .memory_limit = std::size_t{1} << 30}).out ==
             "1048576\n");
  BOOST_TEST(capture({.argv = {"sh", "-c", "ulimit -c"}, .core_dump = false}).out == "0\n");
  cpu_set_t mine;
  BOOST_REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &mine))
    ++cpu;
  const auto got = capture({.argv = {"grep", "Cpus_allowed_list", "/proc/self/status"}, .cpu = cpu});
  BOOST_TEST(got.out == "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

BOOST_AUTO_TEST_CASE(ignored_broken_pipes_are_not_inherited) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto got = sh("(yes; echo status $? >&2) | head -1");
  std::signal(SIGPIPE, before);
  BOOST_TEST(got.err == "status 141\n");
}

BOOST_AUTO_TEST_CASE(command_of_the_user_has_what_this_process_was_given) {
  const auto got = in_fork(
      [](int fd) {
        // As over exec: without the flag what the user gave, and with it recount's own.
        const int given = ::dup(STDERR_FILENO), own = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        ::signal(SIGPIPE, SIG_IGN);
        for (const int number : {SIGINT, SIGQUIT}) // which shells ignore in background jobs
          ::signal(number, SIG_DFL);
        record_inherited();
        const int later = ::dup(STDERR_FILENO);
        const int spare = free_descriptor();
        std::string text = std::to_string(spare != given && spare >= 3);
        for (const bool inherits : {true, false}) {
          Spawn spawn{.argv = {"sh", "-c",
                               "for fd in $FDS; do test -e /proc/self/fd/$fd && echo $fd; done; "
                               "grep SigIgn /proc/self/status | tail -c 6"}};
          spawn.environment = {
              {"FDS", std::to_string(given) + " " + std::to_string(own) + " " + std::to_string(later)}};
          spawn.inherits = inherits;
          const auto ended = capture(spawn, {}, 20s);
          text += (ended.exit.ok() ? "|" : "failed|") + ended.out;
        }
        const std::string expected = "1|" + std::to_string(given) + "\n01000\n|00000\n";
        if (text != expected)
          text += " instead of " + expected;
        else
          text = "as expected";
        return ::write(fd, text.data(), text.size()) > 0 ? 0 : 1;
      },
      60s);
  BOOST_TEST(got.out == "as expected");
}

BOOST_AUTO_TEST_CASE(hangups_that_nohup_ignores_stay_ignored) {
  const auto got = in_fork(
      [](int fd) {
        ::signal(SIGHUP, SIG_IGN);
        record_inherited();
        const HeldSignals signals;
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGTERM);
        const int first = signals.next().number, second = signals.next().number;
        std::string text = std::to_string(first) + " " + std::to_string(second);
        const auto ended =
            capture({.argv = {"sh", "-c", "kill -HUP $$; echo lives"}, .inherits = true}, {}, 20s);
        text += " " + ended.out;
        return ::write(fd, text.data(), text.size()) > 0 ? 0 : 1;
      },
      60s);
  BOOST_TEST(got.out == std::to_string(SIGTERM) + " 0 lives\n");
}

BOOST_AUTO_TEST_CASE(raised_limit_of_open_files_is_not_inherited) {
  const auto got = in_fork(
      [](int fd) {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max > 64 ? 64 : limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        const bool raised = raise_open_files(), again = raise_open_files();
        const auto text = capture({.argv = {"sh", "-c", "ulimit -Sn"}}, {}, 20s).out;
        rlimit now{};
        ::getrlimit(RLIMIT_NOFILE, &now);
        const bool expected = raised == (limit.rlim_max > 64) && !again && now.rlim_cur == limit.rlim_max &&
                              (!raised || text == "64\n");
        return ::write(fd, text.data(), text.size()) > 0 && expected ? 0 : 1;
      },
      60s);
  BOOST_TEST(got.exit.ok(), got.out);
}

BOOST_AUTO_TEST_CASE(a_child_dies_with_the_process_that_started_it) {
  // A forked middle man starts `sleep`, tells its pid, and is killed.
  const auto got = in_fork(
      [](int fd) {
        Child child(Spawn{.argv = {"sleep", "100"}});
        const std::string pid = std::to_string(child.pid());
        if (::write(fd, pid.data(), pid.size()) < 0) return 1;
        ::kill(::getpid(), SIGKILL);
        return 0;
      },
      20s);
  BOOST_TEST((got.exit.how == Exit::How::signalled));
  const pid_t grandchild = std::stoi(got.out);
  for (int i = 0; i < 1000 && alive(grandchild); ++i)
    std::this_thread::sleep_for(5ms);
  BOOST_TEST(!alive(grandchild));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fork_without_exec)

BOOST_AUTO_TEST_CASE(what_the_body_writes_and_returns_arrives) {
  const auto got = in_fork(
      [](int fd) {
        std::puts("chatter");
        return ::write(fd, "data", 4) == 4 ? 5 : 6;
      },
      20s);
  BOOST_TEST(got.exit.code == 5);
  BOOST_TEST(got.out == "data");
  BOOST_TEST(got.err == "chatter\n");
}

BOOST_AUTO_TEST_CASE(a_crash_stays_in_the_child) {
  const auto got = in_fork(
      [](int) {
        ::raise(SIGSEGV);
        return 0;
      },
      20s);
  BOOST_TEST(describe(got.exit) == "killed by signal 11 (SIGSEGV)");
}

BOOST_AUTO_TEST_CASE(an_exception_is_told) {
  const auto got = in_fork([](int) -> int { throw std::runtime_error("the reason"); }, 20s);
  BOOST_TEST(got.exit.code == 70);
  BOOST_TEST(got.err == "the reason\n");
}

BOOST_AUTO_TEST_CASE(a_body_that_hangs_is_ended) {
  const auto got = in_fork(
      [](int) {
        while (true)
          ::pause();
        return 0;
      },
      200ms);
  BOOST_TEST((got.exit.how == Exit::How::timed_out));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(programs_are_found_along_the_path) {
  BOOST_TEST(find_program("sh").has_value());
  BOOST_TEST(find_program("/bin/sh").value() == "/bin/sh");
  BOOST_TEST(!find_program("no-such-program-here").has_value());
  BOOST_TEST(!find_program("/etc/passwd").has_value());
  BOOST_TEST(!find_program("").has_value());
  BOOST_TEST(std::filesystem::equivalent(this_program(), "/proc/self/exe"));
}
