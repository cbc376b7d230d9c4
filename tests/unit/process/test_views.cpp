// Files below the root of another process: no link of it leads out.
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/process/views.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace recount;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(views)

namespace {

/// A folder with a file beside what shall be the root of a process.
struct Tree {
  process::TemporaryFolder folder{"recount-views"};
  fs::path outside = fs::path(folder.path()) / "outside", root = fs::path(folder.path()) / "root";
  process::Fd fd;

  Tree() {
    fs::create_directories(root / "lib");
    write(outside, "outside");
    write(root / "lib" / "a", "inside");
    fs::create_directory_symlink("/lib", root / "absolute");
    fs::create_directory_symlink("lib", root / "relative");
    fs::create_symlink("../outside", root / "up");
    fs::create_symlink(outside, root / "out");
    fs::create_symlink("/proc/self/root" + outside.string(), root / "magic");
    BOOST_REQUIRE(::mkfifo((root / "pipe").c_str(), 0644) == 0);
    fd.reset(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  /// The file, or the name of the errno.
  [[nodiscard]] std::string text(const std::string& path, int flags = 0) const {
    const process::Fd file = process::open_regular(path, fd.get(), flags);
    if (!file) return strerrorname_np(errno);
    std::array<char, 64> buffer{};
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(n < 0 ? 0 : n)};
  }
};

/// As before Linux 5.6.
bool refuse_openat2() {
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{code.size(), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(links_stay_below_the_root) {
  const Tree tree;
  BOOST_TEST(tree.text("/lib/a") == "inside");
  BOOST_TEST(tree.text("/relative/a") == "inside");
  BOOST_TEST(tree.text("/absolute/a") == "inside");
  for (const char* const path :
       {"/up", "/out", "/magic", "/../outside", "/lib/../../outside", "/lib", "/pipe"})
    BOOST_TEST(tree.text(path).starts_with("E"), path << ": " << tree.text(path));
  BOOST_TEST(tree.text("/relative/a", O_NOFOLLOW) == "inside"); // of the last part only
  Tree::write(tree.root / "outside", "a file of the container");
  BOOST_TEST(tree.text("/up") == "a file of the container");
  BOOST_TEST(tree.text("/up", O_NOFOLLOW) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(an_old_linux_follows_no_link) {
  const Tree tree;
  const auto got = process::in_fork(
      [&](int out) {
        if (!refuse_openat2()) return 2;
        std::string text;
        for (const char* const path : {"/lib/a", "/relative/a", "/up", "/out", "/lib/../../outside", "/pipe"})
          text += tree.text(path) + " ";
        return process::write_all(out, text) ? 0 : 1;
      },
      10s);
  if (got.exit.code == 2) return test::skip("no filter of seccomp(2) can be set");
  BOOST_TEST(got.exit.ok());
  BOOST_TEST(got.out == "inside ENOTDIR EINVAL EINVAL EXDEV EINVAL ");
}

BOOST_AUTO_TEST_CASE(devices_and_pipes_are_not_opened) {
  // Opening a pipe for reading would let a writer go on.
  const Tree tree;
  BOOST_TEST(!process::open_regular((tree.root / "pipe").string()));
  BOOST_TEST(errno == EINVAL);
  BOOST_TEST(::open((tree.root / "pipe").c_str(), O_WRONLY | O_NONBLOCK) < 0);
  BOOST_TEST(!process::open_regular("/dev/null"));
}

BOOST_AUTO_TEST_CASE(this_process_has_the_root_of_this_process) {
  process::Views views;
  const auto pid = static_cast<std::uint32_t>(::getpid());
  BOOST_TEST(views.own_pid(pid) == 0U);
  views.look(pid);
  BOOST_TEST(views.root(pid) == -1);
  BOOST_TEST(views.own_pid(pid) == pid);
  BOOST_TEST(views.runs_as(pid, ::geteuid()));
  views.fork(pid, 0x7ffffff0); // above any PID of Linux
  views.look(0x7ffffff0);
  BOOST_TEST(views.own_pid(0x7ffffff0) == 0U);
  BOOST_TEST(!views.runs_as(0x7ffffff0, ::geteuid()));
}

BOOST_AUTO_TEST_CASE(a_root_is_known_after_the_end) {
  const Tree tree;
  if (::geteuid() != 0) return test::skip("chroot(2) needs root");
  process::Pipe ready, end;
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    const bool changed = ::chroot(tree.root.c_str()) == 0 && process::write_all(ready.write.get(), "x");
    end.write.reset();
    _exit(changed && ::read(end.read.get(), &byte, 1) == 0 ? 0 : 1);
  }
  const auto pid = static_cast<std::uint32_t>(child), later = pid + 1;
  char byte = 0;
  BOOST_REQUIRE(::read(ready.read.get(), &byte, 1) == 1);
  process::Views views;
  views.look(pid);
  views.fork(pid, later);
  end.write.reset();
  ::waitpid(child, nullptr, 0);
  views.look(pid);
  for (const std::uint32_t one : {pid, later}) {
    BOOST_TEST(views.root(one) >= 0);
    BOOST_TEST(static_cast<bool>(process::open_regular("/lib/a", views.root(one))));
  }
  BOOST_TEST(views.own_pid(pid) == pid);
  BOOST_TEST(views.own_pid(later) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
