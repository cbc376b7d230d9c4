// Several, slow, dead and hostile viewers do not disturb the program or each other.
#include "watching.hpp"

#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

using namespace recount;
using namespace recount::test;
using namespace recount::watch;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(hub)

namespace {
namespace fs = std::filesystem;

/// A path for a socket that nobody else uses.
std::string fresh_path() {
  static const process::TemporaryFolder folder("watch");
  static int made = 0;
  return fmt::format("{}/{}", folder.path(), ++made);
}

/// Serves until there is nothing more to do at the moment.
void settle(Hub& hub) {
  for (int quiet = 0; quiet < 2;) {
    std::vector<pollfd> fds;
    hub.polled(fds);
    quiet = ::poll(fds.data(), fds.size(), 20) == 0 ? quiet + 1 : 0;
    hub.serve(fds);
  }
}

/// All that there is to read until the other side closes.
std::vector<Message> read_all(int fd, LineReader::State& state) {
  std::vector<Message> all;
  LineReader reader;
  state = LineReader::State::open;
  while (state == LineReader::State::open) {
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) != 1) break;
    state = reader.read(fd, [&](const Message& m) { all.push_back(m); });
  }
  return all;
}

Hello hello() {
  return {"x", 100, {{"a", "/s", ""}}};
}
} // namespace

BOOST_AUTO_TEST_CASE(stalled_viewer_disturbs_nobody) {
  Hub hub(fresh_path());
  const process::Fd stalled = connect_to(hub.address()), live = connect_to(hub.address());
  std::vector<Message> heard;
  LineReader::State state{};
  std::jthread viewer([&] { heard = read_all(live.get(), state); });
  const auto plan = plan_of("perf::PAGE-FAULTS");
  process::Pipe output;
  WatchSettings settings;
  settings.command = {std::string(FIXTURES) + "/sectioned", "600"};
  settings.interval = 10ms;
  settings.out = output.write.get();
  struct Sender final : Observer {
    explicit Sender(Hub& h) : hub(h) {}
    void polled(std::vector<pollfd>& fds) const override { hub.polled(fds); }
    void ready(const std::vector<pollfd>& polled) override { hub.serve(polled); }
    void message(const Message& m) override {
      ++messages;
      hub.send(m);
    }
    Hub& hub;
    std::uint64_t messages = 0;
  } observer(hub);
  std::uint64_t lines = 0;
  {
    const int status = watch::watch(plan, settings, observer);
    BOOST_TEST(status == 0);
    hub.drain(200);
    lines = observer.messages;
    // The stalled one wakes up: it is told what it has missed, and the end of what fits.
    BOOST_TEST(hub.dropped() > 0U);
  }
  char words[64] = {};
  BOOST_TEST(::read(output.read.get(), words, sizeof words - 1) > 0);
  BOOST_TEST(std::string(words) == "waited 0 times\n"); // the program never stood still for a mark
  ::shutdown(live.get(), SHUT_RD);
  viewer.join();
  BOOST_TEST(dropped(heard, false) == 0U);
  BOOST_TEST(heard.size() == lines); // the other lost nothing
  const auto intervals = of<Interval>(heard);
  for (std::size_t i = 0; i < intervals.size(); ++i)
    BOOST_TEST(intervals[i].number == static_cast<std::int64_t>(i));
  BOOST_TEST(of<Section>(heard).size() + dropped(heard, true) == 60'000U);
}

BOOST_AUTO_TEST_CASE(resumed_viewer_gets_number_of_missed_lines) {
  Hub hub(fresh_path());
  hub.send(hello());
  const process::Fd viewer = connect_to(hub.address());
  settle(hub);
  constexpr int lines = 20'000;
  for (int i = 0; i < lines; ++i)
    hub.send(Interval{i, double(i), double(i + 1), {1.0}});
  const auto missed = hub.dropped();
  BOOST_TEST(missed > 0U);
  std::vector<Message> heard;
  std::atomic<bool> enough = false;
  std::jthread reader([&] {
    LineReader lines_of;
    while (!enough) {
      pollfd wait{viewer.get(), POLLIN, 0};
      if (::poll(&wait, 1, 20) == 1)
        lines_of.read(viewer.get(), [&](const Message& m) { heard.push_back(m); });
    }
  });
  hub.drain(5000);
  hub.send(End{0, "over"});
  hub.drain(5000);
  std::this_thread::sleep_for(200ms);
  enough = true;
  reader.join();
  BOOST_TEST(dropped(heard, false) == missed);
  BOOST_TEST(of<Interval>(heard).size() + missed == static_cast<std::uint64_t>(lines));
  BOOST_TEST(of<End>(heard).size() == 1U);
}

BOOST_AUTO_TEST_CASE(late_viewer_gets_hello_and_recent_lines) {
  Hub hub("0"); // TCP, any port
  BOOST_TEST((hub.address().starts_with("127.0.0.1:") || hub.address().starts_with("[::1]:")));
  hub.send(hello());
  for (int i = 0; i < 1000; ++i)
    hub.send(Interval{i, double(i), double(i + 1), {1.0}});
  process::Fd late = connect_to(hub.address());
  settle(hub);
  hub.send(End{0, "over"});
  hub.drain(1000);
  LineReader::State state{};
  ::shutdown(late.get(), SHUT_WR);
  settle(hub);
  BOOST_TEST(hub.viewers() == 1U); // it only said that it will say nothing
  std::vector<Message> heard;
  LineReader reader;
  for (int quiet = 0; quiet < 3;) {
    pollfd wait{late.get(), POLLIN, 0};
    quiet = ::poll(&wait, 1, 20) == 0 ? quiet + 1 : 0;
    state = reader.read(late.get(), [&](const Message& m) { heard.push_back(m); });
    settle(hub);
  }
  BOOST_TEST((state == LineReader::State::open));
  BOOST_TEST(of<Hello>(heard).size() == 1U);
  BOOST_TEST(of<Interval>(heard).size() >= 500U);
  BOOST_TEST(of<Interval>(heard).back().number == 999);
  BOOST_TEST(of<End>(heard).size() == 1U);
}

BOOST_AUTO_TEST_CASE(dead_and_hostile_viewers_are_disconnected) {
  Hub hub(fresh_path());
  hub.send(hello());
  process::Fd dies = connect_to(hub.address()), talks = connect_to(hub.address()),
              good = connect_to(hub.address());
  settle(hub);
  BOOST_TEST(hub.viewers() == 3U);
  dies.reset();
  const std::string noise(64 << 10, 'x');
  static_cast<void>(::send(talks.get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  settle(hub);
  BOOST_TEST(hub.viewers() == 1U);
  std::vector<process::Fd> crowd;
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(connect_to(hub.address()));
    if (i % 10 == 9) settle(hub);
  }
  BOOST_TEST(hub.viewers() <= 32U);
  hub.send(Interval{0, 0, 1, {1.0}});
  LineReader reader;
  std::vector<Message> heard;
  reader.read(good.get(), [&](const Message& m) { heard.push_back(m); });
  BOOST_TEST(of<Interval>(heard).size() == 1U);
}

BOOST_AUTO_TEST_CASE(socket_is_private_and_removed_with_the_hub) {
  const std::string path = fresh_path();
  {
    const Hub hub(path);
    struct stat status {};
    BOOST_TEST(::stat(path.c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777U) == 0700U);
    BOOST_CHECK_THROW(Hub{path}, Error); // somebody listens there
  }
  BOOST_TEST(!fs::exists(path));
  std::ofstream(path) << "mine";
  BOOST_CHECK_THROW(Hub{path}, Error); // not a socket: left alone
  BOOST_TEST(base::read_file(path).value_or("") == "mine");
}

BOOST_AUTO_TEST_CASE(what_took_the_place_of_the_socket_stays) {
  const std::string path = fresh_path();
  {
    const Hub hub(path);
    fs::remove(path);
    std::ofstream(path) << "mine";
  }
  BOOST_TEST(fs::exists(path));
}

BOOST_AUTO_TEST_CASE(missing_listener_is_an_error) {
  BOOST_CHECK_THROW(static_cast<void>(connect_to(fresh_path())), Error);
}

BOOST_AUTO_TEST_SUITE_END()
