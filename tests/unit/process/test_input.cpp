#include "base/process/input.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace recount;
using process::Fd, process::Input;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(input_of_several_runs)

namespace {

/// Standard input of this process is `fd` meanwhile; -1: closed.
class AsInput {
public:
  explicit AsInput(int fd) : before_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    if (fd < 0)
      ::close(STDIN_FILENO);
    else
      ::dup2(fd, STDIN_FILENO);
  }
  AsInput(const AsInput&) = delete;
  AsInput& operator=(const AsInput&) = delete;
  ~AsInput() { ::dup2(before_.get(), STDIN_FILENO); }

private:
  Fd before_;
};

std::string once(int fd) {
  const AsInput given(fd);
  return Input().once();
}

struct Folder {
  std::string path = (fs::temp_directory_path() / "recount-input-XXXXXX").string();
  Folder() { BOOST_TEST_REQUIRE(::mkdtemp(path.data()) != nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
};

std::string rest(int fd) {
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(fd, text.data(), text.size()))));
  return text;
}

std::string refusal(const std::string& file) {
  try {
    const Input input(file);
  } catch (const Error& error) {
    return error.problem().cause;
  }
  return "taken";
}

} // namespace

BOOST_AUTO_TEST_CASE(what_can_be_read_only_once) {
  const Folder folder;
  const process::Pipe pipe;
  int sockets[2];
  BOOST_TEST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const Fd one(sockets[0]), other(sockets[1]), null(::open("/dev/null", O_RDONLY)),
      file(::open(folder.file("a", "text").c_str(), O_RDONLY)),
      log(::open((folder.path + "/b").c_str(), O_WRONLY | O_CREAT, 0600)),
      terminal(::open("/dev/ptmx", O_RDWR | O_NOCTTY));
  BOOST_TEST(once(pipe.read.get()) == "a pipe");
  BOOST_TEST(once(one.get()) == "a socket");
  for (const int again : {null.get(), file.get(), log.get(), pipe.write.get(), -1})
    BOOST_TEST(once(again) == "");
  if (terminal) BOOST_TEST(once(terminal.get()) == "");
}

BOOST_AUTO_TEST_CASE(files_are_read_again_from_where_they_were) {
  const Folder folder;
  const Fd file(::open(folder.file("a", "0123456789").c_str(), O_RDONLY));
  ::lseek(file.get(), 4, SEEK_SET);
  const AsInput given(file.get());
  const Input input;
  BOOST_TEST(input.fd() == STDIN_FILENO);
  for (int run = 0; run < 3; ++run) {
    input.rewind();
    BOOST_TEST(rest(STDIN_FILENO) == "456789");
    BOOST_TEST(rest(STDIN_FILENO) == "");
  }
}

BOOST_AUTO_TEST_CASE(output_is_not_rewound) {
  const Folder folder;
  const Fd log(::open((folder.path + "/log").c_str(), O_WRONLY | O_CREAT, 0600));
  const AsInput given(log.get());
  const Input input;
  for (const char* text : {"ab", "cd"}) {
    input.rewind();
    BOOST_TEST(::write(STDIN_FILENO, text, 2) == 2);
  }
  std::string written;
  std::ifstream(folder.path + "/log") >> written;
  BOOST_TEST(written == "abcd");
}

BOOST_AUTO_TEST_CASE(a_named_file_replaces_standard_input) {
  const Folder folder;
  const process::Pipe pipe;
  const AsInput given(pipe.read.get());
  const Input input(folder.file("a", "text"));
  BOOST_TEST(input.once() == "");
  const Input copy = input;
  for (int run = 0; run < 2; ++run) {
    copy.rewind();
    BOOST_TEST(rest(input.fd()) == "text");
  }
  BOOST_TEST(Input("/dev/null").once() == "");
  const std::string fifo = folder.path + "/fifo";
  BOOST_TEST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  BOOST_TEST(refusal(fifo) == "is a pipe, which can be read only once");
  BOOST_TEST(refusal(folder.path) == "is a directory");
  BOOST_TEST(refusal(folder.path + "/none") == "No such file or directory");
}

BOOST_AUTO_TEST_CASE(fifos_among_arguments) {
  const Folder folder;
  const std::string file = folder.file("a", "text"), fifo = folder.path + "/fifo";
  BOOST_TEST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const process::Pipe pipe;
  const AsInput given(pipe.read.get());
  const std::string substituted = "/dev/fd/" + std::to_string(pipe.read.get()), option = "--data=" + fifo;
  const std::vector<std::string> found{substituted, option, fifo};
  BOOST_TEST(process::fifos_among({"cat", substituted, file, option, "--data=" + file, "/dev/stdin", fifo,
                                   folder.path, "", "="}) == found,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
