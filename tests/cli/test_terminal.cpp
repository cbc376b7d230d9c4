// recount watch on a terminal: drawn on, typed at, hung up, and left as it was found.
#include "skip.hpp"
#include "surroundings.hpp"

#include "base/process/fd.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(terminal)

namespace {
using namespace recount;
using namespace recount::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// recount on a terminal of its own, as the leader of its session.
class OnTerminal {
public:
  explicit OnTerminal(std::vector<std::string> words, const std::filesystem::path& folder) {
    words.insert(words.begin(), variable("RECOUNT"));
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    winsize size{24, 80, 0, 0};
    int master = -1;
    pid_ = ::forkpty(&master, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::setenv("TERM", "xterm", 1);
      if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
      ::_exit(99);
    }
    if (pid_ < 0) throw std::runtime_error("no terminal can be made here"); // and -1 is never sent a signal
    master_.reset(master);
    ::tcgetattr(master, &before_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;
  ~OnTerminal() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// Reads until the text was seen; false when it was not within a minute.
  bool see(const std::string& text) {
    const auto end = Clock::now() + 60s;
    while (shown_.find(text, seen_) == std::string::npos) {
      if (Clock::now() > end || !read_some()) return false;
    }
    seen_ = shown_.find(text, seen_) + text.size();
    return true;
  }
  void type(const std::string& keys) {
    BOOST_TEST(::write(master_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  void hang_up() { master_.reset(); }
  void kill(int number) const { ::kill(pid_, number); }

  /// Reads to the end; the exit status as a shell tells it, -1 when it does not end.
  int end() {
    const auto limit = Clock::now() + 60s;
    while (!status_ && Clock::now() < limit) {
      read_some();
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_)
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    while (master_ && read_some(50)) {
    }
    BOOST_TEST_INFO("its end: " << shown_.substr(shown_.size() - std::min<std::size_t>(shown_.size(), 400)));
    return status_.value_or(-1);
  }

  [[nodiscard]] bool as_it_was() const {
    termios now{};
    return ::tcgetattr(master_.get(), &now) == 0 && now.c_lflag == before_.c_lflag &&
           now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
           std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
  }
  [[nodiscard]] bool raw() const {
    termios now{};
    return ::tcgetattr(master_.get(), &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == 0;
  }
  [[nodiscard]] const std::string& shown() const { return shown_; }

  /// What stands on the terminal: the sequences that we use, carried out.
  [[nodiscard]] std::vector<std::string> screen() const {
    std::vector<std::string> lines{""};
    std::size_t row = 0;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      std::smatch up;
      const std::string rest = shown_.substr(i, 16);
      if (std::regex_search(rest, up, std::regex("^\033\\[([0-9]+)A"))) {
        const auto by = std::stoul(up[1]);
        row = row > by ? row - by : 0;
        i += static_cast<std::size_t>(up.length()) - 1;
      } else if (rest.starts_with("\033[J")) {
        lines.resize(row + 1);
        lines[row].clear();
        i += 2;
      } else if (shown_[i] == '\033') {
        i = shown_.find('m', i);
      } else if (shown_[i] == '\n') {
        if (++row >= lines.size()) lines.emplace_back();
      } else if (shown_[i] != '\r') {
        lines[row] += shown_[i];
      }
    }
    return lines;
  }

private:
  bool read_some(int milliseconds = 200) {
    if (!master_) {
      std::this_thread::sleep_for(10ms);
      return true;
    }
    pollfd wait{master_.get(), POLLIN, 0};
    if (::poll(&wait, 1, milliseconds) == 0) return milliseconds != 50;
    char bytes[65536];
    const auto n = ::read(master_.get(), bytes, sizeof bytes);
    if (n > 0) shown_.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }

  pid_t pid_ = -1;
  process::Fd master_;
  termios before_{};
  std::string shown_;
  std::size_t seen_ = 0;
  std::optional<int> status_;
};

bool can_draw() {
  for (const char* need : {"gnuplot", "figures", "software events"}) {
    const auto reason = missing(need);
    if (reason.empty()) continue;
    skip(reason);
    return false;
  }
  return true;
}

std::string slurp(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool appears(const std::filesystem::path& path) {
  for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(20ms))
    if (std::filesystem::exists(path)) return true;
  return false;
}

/// Of a command that goes on when the case lets it.
const std::string until_go = "while ! test -e go; do sleep 0.02; done; ";
void let_go(const Folder& folder) {
  std::ofstream(folder.path() / "go") << "go";
}

const std::vector<std::string> watching{"watch", "-I", "50", "-e", "perf::TASK-CLOCK,perf::PAGE-FAULTS",
                                        "--"};

std::vector<std::string> watch(std::vector<std::string> command, std::vector<std::string> options = {}) {
  auto words = watching;
  words.insert(words.end() - 1, options.begin(), options.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}
} // namespace

BOOST_AUTO_TEST_CASE(ctrl_c_leaves_a_clean_terminal) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sleep", "30"}), folder.path());
  BOOST_TEST(on.see("perf::TASK-CLOCK"));
  BOOST_TEST(on.see("Ctrl-C end"));
  BOOST_TEST(on.raw());
  on.type("\x03");
  BOOST_TEST(on.end() == 130);
  BOOST_TEST(on.as_it_was());
  const auto lines = on.screen();
  BOOST_TEST(lines.back() == ""); // the cursor is at the start of a line
  BOOST_TEST(on.shown().find("^C") == std::string::npos);
  BOOST_TEST(on.shown().find("killed by signal 2") != std::string::npos);
  const auto off = on.shown().rfind("\033[");
  BOOST_TEST(
      std::regex_search(on.shown().substr(off), std::regex("^\033\\[(0|0;39;49)?m"))); // no colour is left
}

BOOST_AUTO_TEST_CASE(keys_switch_between_what_is_shown) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sleep", "30"}), folder.path());
  BOOST_TEST(on.see("[1/2] perf::TASK-CLOCK"));
  on.type("n");
  BOOST_TEST(on.see("[2/2] perf::PAGE-FAULTS"));
  on.type("p");
  BOOST_TEST(on.see("[1/2] perf::TASK-CLOCK"));
  on.type("2");
  BOOST_TEST(on.see("[2/2] perf::PAGE-FAULTS"));
  on.type(" ");
  BOOST_TEST(on.see("held"));
  on.type("q"); // a command ends by itself
  BOOST_TEST(!on.as_it_was());
  on.kill(SIGTERM);
  BOOST_TEST(on.end() == 143);
  BOOST_TEST(on.as_it_was());
}

BOOST_AUTO_TEST_CASE(q_ends_the_watching_of_a_process_and_not_the_process) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on({"watch", "-I", "50", "-e", "perf::PAGE-FAULTS", "-p", std::to_string(::getpid())},
                folder.path());
  BOOST_TEST(on.see("q quit"));
  on.type("q");
  BOOST_TEST(on.end() == 0);
  BOOST_TEST(on.as_it_was());
}

BOOST_AUTO_TEST_CASE(what_the_command_writes_stands_above_the_figure) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sh", "-c",
                       "for i in 1 2 3 4 5 6 7 8; do echo \"line $i\"; sleep 0.1; done; echo words >&2; "
                       "printf 'no end'"}),
                folder.path());
  BOOST_TEST(on.end() == 0);
  std::string all;
  for (const auto& line : on.screen())
    all += line + "\n";
  std::string expected;
  for (int i = 1; i <= 8; ++i)
    expected += "line " + std::to_string(i) + "\n";
  BOOST_TEST(all.starts_with(expected + "words\nno end\n"), all);
  BOOST_TEST(all.find("line 1", 8) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_terminal_that_hangs_up_ends_neither_the_command_nor_the_record) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sh", "-c",
                       "trap '' HUP; echo begun; " + until_go +
                           "echo more; "
                           "for i in 1 2 3 4 5 6 7 8 9; do seq 3000; done; touch done; exit 4"},
                      {"-o", "r.jsonl"}),
                folder.path());
  BOOST_TEST(on.see("begun"));
  on.hang_up();
  let_go(folder);
  BOOST_TEST(appears(folder.path() / "done")); // nobody takes its output, and it goes on
  BOOST_TEST(on.end() == 4);
  const auto results = slurp(folder.path() / "r.jsonl");
  BOOST_TEST(results.ends_with("}\n"));
  BOOST_TEST(results.find(R"("repetition":0,"witness":"perf","metric":"perf::PAGE-FAULTS","value":)",
                          results.rfind("seconds\",\"value\"")) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_stalled_terminal_does_not_keep_the_command) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sh", "-c", "sleep 1; touch done"}), folder.path());
  // Nobody reads the terminal meanwhile.
  BOOST_TEST(appears(folder.path() / "done"));
  BOOST_TEST(on.end() == 0);
  BOOST_TEST(on.as_it_was());
}

BOOST_AUTO_TEST_CASE(the_command_outlives_us) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal on(watch({"sh", "-c", "trap '' HUP PIPE; echo begun; " + until_go + "touch done"}),
                folder.path());
  BOOST_TEST(on.see("begun"));
  on.kill(SIGKILL);
  BOOST_TEST(on.end() == 137);
  let_go(folder);
  BOOST_TEST(appears(folder.path() / "done"));
}

BOOST_AUTO_TEST_CASE(a_viewer_elsewhere_sees_it_too_and_may_die) {
  if (!can_draw()) return;
  const Folder folder;
  OnTerminal watched(
      watch({"sh", "-c", "echo mark hello >&3; " + until_go + "exit 5"}, {"--listen", "./socket"}),
      folder.path());
  BOOST_TEST(watched.see("listening on ./socket"));
  OnTerminal dies({"watch", "--connect", "./socket"}, folder.path()),
      quits({"watch", "--connect", "./socket"}, folder.path()),
      stays({"watch", "--connect", "./socket", "--plain"}, folder.path());
  BOOST_TEST(dies.see("[1/2] perf::TASK-CLOCK"));
  dies.kill(SIGKILL);
  BOOST_TEST(quits.see("[1/2] perf::TASK-CLOCK"));
  quits.type("n");
  BOOST_TEST(quits.see("[2/2] perf::PAGE-FAULTS"));
  quits.type("q");
  BOOST_TEST(quits.end() == 0);
  BOOST_TEST(quits.as_it_was());
  BOOST_TEST(stays.see("hello mark"));
  let_go(folder);
  BOOST_TEST(stays.see("the command ended: exit status 5"));
  BOOST_TEST(stays.end() == 0);
  BOOST_TEST(watched.end() == 5);
  BOOST_TEST(!std::filesystem::exists(folder.path() / "socket"));
}

BOOST_AUTO_TEST_CASE(what_a_hostile_peer_sends_ends_the_viewer_and_leaves_its_terminal) {
  const Folder folder;
  for (const std::string& sent :
       {std::string("HTTP/1.1 200 OK\r\n\r\n"), std::string(1 << 20, 'x'),
        std::string(R"({"type":"hello","schema":"recount-watch/1","subject":"\u001b[2J","interval_ms":1,)"
                    R"("series":[{"name":"\u001b]0;x\u0007","unit":"u"}]})"
                    "\n{}\n")}) {
    const process::Fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (folder.path() / "peer").string();
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(address.sun_path);
    BOOST_TEST_REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    BOOST_TEST_REQUIRE(::listen(listening.get(), 1) == 0);
    OnTerminal viewer({"watch", "--connect", "./peer"}, folder.path());
    const process::Fd peer(::accept(listening.get(), nullptr, nullptr));
    static_cast<void>(::send(peer.get(), sent.data(), sent.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    BOOST_TEST(viewer.end() == 125);
    BOOST_TEST(viewer.as_it_was());
    BOOST_TEST(viewer.shown().find("sent an invalid line") != std::string::npos);
    BOOST_TEST(viewer.shown().find("\033[2J") == std::string::npos);
    BOOST_TEST(viewer.shown().find("\033]") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(ctrl_z_gives_the_terminal_back_until_it_goes_on) {
  if (!can_draw()) return;
  const Folder folder;
  // As the leader of its session it is stopped by nothing that comes from the terminal: only the settings.
  OnTerminal on(watch({"sh", "-c", "trap '' TSTP; " + until_go}), folder.path());
  BOOST_TEST(on.see("Ctrl-C end"));
  BOOST_TEST(on.raw());
  on.kill(SIGTSTP);
  const auto within = [](const auto& test) {
    for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(10ms))
      if (test()) return true;
    return false;
  };
  BOOST_TEST(within([&] { return on.as_it_was(); }));
  on.kill(SIGCONT);
  BOOST_TEST(within([&] { return on.raw(); }));
  let_go(folder);
  BOOST_TEST(on.end() == 0);
  BOOST_TEST(on.as_it_was());
}

BOOST_AUTO_TEST_SUITE_END()
