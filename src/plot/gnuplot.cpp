#include "plot/gnuplot.hpp"

#include "base/text.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/spawn.hpp"

#include <recount/error.hpp>

#include <gnuplot-iostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <locale>

namespace recount::plot {
namespace {
constexpr const char* install = "install gnuplot (Debian: apt-get install gnuplot-nox)";

/// Blocks SIGPIPE in this thread; one that comes meanwhile is taken away before it is unblocked.
class NoSigpipe {
public:
  NoSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec at_once{0, 0};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

/// A file in memory: unlike a pipe it never fills, so the child's words need no reader while it runs.
process::Fd memory_file() {
  process::Fd fd(::memfd_create("gnuplot-says", MFD_CLOEXEC));
  if (!fd) throw unavailable("gnuplot", std::string("memfd_create: ") + std::strerror(errno));
  return fd;
}

std::string contents(int fd) {
  std::string text(64 * 1024, '\0');
  const auto n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

/// Returns whether gnuplot took everything.
bool feed(process::Fd to, const std::function<void(GnuplotWriter&)>& send) {
  const NoSigpipe guard;
  std::FILE* file = ::fdopen(to.get(), "w");
  if (!file) throw unavailable("gnuplot", std::string("fdopen: ") + std::strerror(errno));
  static_cast<void>(to.release());
  GnuplotWriter gp(file); // closes the file
  send(gp);
  // Reading from a pipe, gnuplot goes on after an error and ends with 0 all the same: ask it.
  gp << "if (GPVAL_ERRNO != 0) { exit status 65 }\n";
  return gp.flush();
}
} // namespace

std::string run_gnuplot(const std::function<void(GnuplotWriter&)>& send) {
  if (!process::find_program("gnuplot"))
    throw unavailable("gnuplot", "not found in PATH, but needed to draw figures", {}, install);
  const process::Fd words = memory_file();
  process::Pipe pipe;
  process::Spawn spawn;
  spawn.argv = {"gnuplot", "--default-settings"};
  // Without a UTF-8 locale gnuplot warns that iconv cannot convert its degree sign (src/encoding.c).
  spawn.environment = {{"LC_ALL", "C.UTF-8"}};
  spawn.in = pipe.read.get();
  spawn.out = words.get();
  spawn.err = words.get();
  process::Child child(spawn);
  pipe.read.reset();
  const bool all = feed(std::move(pipe.write), send);
  const auto exit = child.wait(std::chrono::minutes(2));
  std::string said = contents(words.get());
  if (exit.ok() && all) return said;
  std::string cause = exit.ok() ? "stopped reading its commands" : "failed (" + process::describe(exit) + ")";
  cause += said.empty() ? ", without output" : ", output:\n" + said;
  throw unavailable("gnuplot", cause, {},
                    "gnuplot --version should be 5.2 or later; " + std::string(install));
}

namespace {

std::string_view tex_of(char c) {
  switch (c) {
  case '\\': return "\\textbackslash{}";
  case '{': return "\\{";
  case '}': return "\\}";
  case '_': return "\\_";
  case '%': return "\\%";
  case '&': return "\\&";
  case '#': return "\\#";
  case '$': return "\\$";
  case '~': return "\\textasciitilde{}";
  case '^': return "\\textasciicircum{}";
  default: return {};
  }
}

/// Characters that need no escape in double quotes: the others are `...`, @macros, escapes, or begin a
/// comment.
bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(" .,:;_-+=/()").find(c) != std::string_view::npos;
}

/// In single quotes where the string has neither quotes nor line ends. Gnuplot reads '' as one quote after
/// some characters only: not at the head of a string, and not after another '' (seen with
/// gnuplot 5.4.4).
std::string literal_of(const std::string& text) {
  if (text.find_first_of(std::string_view("'\n\r\0", 4)) == text.npos) return "'" + text + "'";
  std::string out = "\"";
  for (const char c : text)
    out += is_plain(c) ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out + "\"";
}

std::string shown(std::string_view text, bool tex) {
  std::string out;
  for (const char c : base::printable(text)) {
    const auto escaped = tex ? tex_of(c) : std::string_view{};
    if (escaped.empty())
      out += c;
    else
      out += escaped;
  }
  return out;
}
} // namespace

GnuplotCode quoted(std::string_view text, bool tex) {
  return {GnuplotCode::Made{}, literal_of(shown(text, tex))};
}

GnuplotCode quoted_tic(std::string_view text, bool tex) {
  std::string doubled;
  for (const char c : shown(text, tex)) // "\\%" becomes "\\%%"
    doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return {GnuplotCode::Made{}, literal_of(doubled)};
}

GnuplotCode file_literal(std::string_view path) {
  const bool special = path == "-" || path.starts_with('|') || path.starts_with('~');
  const std::string name = (special ? "./" : "") + std::string(path);
  return {GnuplotCode::Made{}, literal_of(name)};
}

GnuplotCode comment(std::string_view text) {
  return {GnuplotCode::Made{}, "# " + base::printable(text) + (text.ends_with('\\') ? " \n" : "\n")};
}

GnuplotWriter::GnuplotWriter(std::FILE* file) : gnuplot_(std::make_unique<gnuplotio::Gnuplot>(file)) {
  gnuplot_->imbue(std::locale::classic());
  *gnuplot_ << std::defaultfloat << std::setprecision(17);
}

GnuplotWriter::~GnuplotWriter() = default;

GnuplotWriter& GnuplotWriter::operator<<(const GnuplotCode& code) {
  *gnuplot_ << code.text();
  return *this;
}

template <class Row>
void GnuplotWriter::data(const GnuplotCode& name, const std::vector<Row>& rows) {
  *gnuplot_ << name.text() << " << e\n";
  gnuplot_->send1d(rows); // ends with a line "e"
}

template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row4>&);
template void GnuplotWriter::data(const GnuplotCode&, const std::vector<Row5>&);

bool GnuplotWriter::flush() {
  gnuplot_->flush();
  return gnuplot_->good();
}

} // namespace recount::plot
