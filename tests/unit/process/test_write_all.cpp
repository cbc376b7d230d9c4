// Writing to the end although signals interrupt.
#include "base/process/child.hpp"
#include "base/process/fd.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <string>
#include <sys/time.h>
#include <thread>

using namespace recount;

namespace {
std::atomic<int> interruptions;
std::atomic<bool> over;

/// SIGALRM every millisecond in this process, which interrupts what waits.
class Interrupted {
public:
  Interrupted() {
    interruptions = 0;
    over = false;
    struct sigaction action {};
    action.sa_handler = [](int) { ++interruptions; }; // without SA_RESTART
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;
  ~Interrupted() {
    over = true;
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

private:
  struct sigaction before_ {};
};
} // namespace

BOOST_AUTO_TEST_CASE(a_full_pipe_and_a_signal_lose_nothing) {
  process::Pipe pipe;
  std::string filling(std::size_t{4} << 20, 'x'), read;
  sigset_t alarm, before;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, &before); // for the reader: the writer is to be interrupted
  std::thread reader([&] {
    while (interruptions < 5 && !over) // the pipe is full meanwhile
      std::this_thread::yield();
    char block[4096];
    for (ssize_t got = 0; (got = ::read(pipe.read.get(), block, sizeof block)) > 0;)
      read.append(block, static_cast<std::size_t>(got));
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  {
    const Interrupted interrupted;
    BOOST_TEST(process::write_all(pipe.write.get(), filling));
  }
  pipe.write.reset();
  reader.join();
  BOOST_TEST(read.size() == filling.size());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_told) {
  BOOST_TEST(!process::write_all(-1, "x"));
  BOOST_TEST(errno == EBADF);
}
