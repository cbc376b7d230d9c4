#include "show/plot/gnuplot.hpp"

#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <gnuplot-iostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <locale>
#include <optional>
#include <utility>

namespace recount::plot {
namespace {
constexpr const char* install = "install gnuplot (Debian: apt-get install gnuplot-nox)";

/// A character that LaTeX would interpret, escaped.
std::string escaped_tex(char c) {
  if (c == '\\') return "\\textbackslash{}";
  if (c == '~') return "\\textasciitilde{}";
  if (c == '^') return "\\textasciicircum{}";
  return (std::string_view("{}_%&#$").find(c) != std::string_view::npos ? "\\" : "") + std::string(1, c);
}

/// Characters that are literal in double quotes; others may start a substitution, a macro, an escape or a
/// comment.
bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(" .,:;_-+=/()").find(c) != std::string_view::npos;
}

/// In single quotes where the string has neither quotes nor line ends. Gnuplot reads '' as one quote after
/// some characters only: not at the head of a string, and not after another '' (seen with
/// gnuplot 5.4.4).
std::string string_literal(const std::string& text) {
  if (text.find_first_of(std::string_view("'\n\r\0", 4)) == text.npos) return "'" + text + "'";
  std::string out = "\"";
  for (const char c : text)
    out += is_plain(c) ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out + "\"";
}

std::string escaped(std::string_view text, bool tex) {
  std::string out;
  for (const char c : base::printable(text))
    out += tex ? escaped_tex(c) : std::string(1, c);
  return out;
}
} // namespace

GnuplotCode quoted(std::string_view text, bool tex) {
  return {GnuplotCode::FromText{}, string_literal(escaped(text, tex))};
}

GnuplotCode quoted_tic(std::string_view text, bool tex) {
  std::string doubled;
  for (const char c : escaped(text, tex)) // "\\%" becomes "\\%%"
    doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return {GnuplotCode::FromText{}, string_literal(doubled)};
}

GnuplotCode file_literal(std::string_view path) {
  const bool special = path == "-" || path.starts_with('|') || path.starts_with('~');
  const std::string name = (special ? "./" : "") + std::string(path);
  return {GnuplotCode::FromText{}, string_literal(name)};
}

GnuplotCode comment(std::string_view text) {
  return {GnuplotCode::FromText{}, "# " + base::printable(text) + (text.ends_with('\\') ? " \n" : "\n")};
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

void GnuplotWriter::data(const GnuplotCode& name, const std::vector<DataRow>& rows) {
  *gnuplot_ << name.text() << " << e\n";
  gnuplot_->send1d(rows); // ends with a line "e"
}

bool GnuplotWriter::flush() {
  gnuplot_->flush();
  return gnuplot_->good();
}

std::string script_text(const std::function<void(GnuplotWriter&)>& send) {
  // gnuplot-iostream writes to the descriptor of a file, which open_memstream(3) does not have.
  const process::Fd memory(::memfd_create("gnuplot-script", MFD_CLOEXEC));
  std::FILE* const file = memory ? ::fdopen(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 3), "w") : nullptr;
  if (!file) throw CannotDraw(unavailable("gnuplot", std::string("memfd_create: ") + std::strerror(errno)));
  {
    GnuplotWriter gnuplot(file); // closes the file
    send(gnuplot);
    // A file in memory is subject to RLIMIT_FSIZE like any other.
    if (!gnuplot.flush()) throw base::cannot_write("gnuplot's script", errno);
  }
  ::lseek(memory.get(), 0, SEEK_SET);
  return base::read_all(memory.get()).value_or("");
}

namespace {

/// Without a UTF-8 locale gnuplot warns that iconv cannot convert its degree sign (src/encoding.c).
process::Spawn gnuplot_command() {
  return {.argv = {"gnuplot", "--default-settings"}, .environment = {{"LC_ALL", "C.UTF-8"}}};
}

/// A gnuplot that reads one script after the other.
class GnuplotProcess {
public:
  GnuplotProcess() {
    process::Pipe in;
    process::Spawn spawn = gnuplot_command();
    spawn.in = in.read.get();
    worker_.emplace(process::start_worker(spawn, {}));
    in_ = std::move(in.write);
  }
  /// Its output; nothing where it has ended, hangs, or has complained.
  std::optional<std::string> execute(const std::string& script) {
    constexpr std::string_view end = "\nend of figure\n";
    const std::string text = "reset\nset print '-'\n" + script + "print \"\\nend of figure\"\n";
    if (!process::write_all(in_.get(), text)) return {};
    std::string& answer = worker_->answer();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (worker_->open() && !answer.ends_with(end) && std::chrono::steady_clock::now() < until)
      worker_->read(100);
    if (!answer.ends_with(end) || answer.size() == end.size() || !worker_->words().empty()) return {};
    answer.resize(answer.size() - end.size());
    answer.erase(answer.find_last_not_of(" \n") + 1);
    return std::exchange(answer, {});
  }

private:
  process::Fd in_;
  std::optional<process::Worker> worker_;
};

} // namespace

std::string draw_next(const std::function<void(GnuplotWriter&)>& send) {
  static std::optional<GnuplotProcess> gnuplot;
  if (!process::find_program("gnuplot")) return run_gnuplot(send); // throws: gnuplot is missing
  if (!gnuplot) gnuplot.emplace();
  if (auto figure = gnuplot->execute(script_text(send))) return *figure;
  gnuplot.reset();
  return run_gnuplot(send);
}

std::string run_gnuplot(const std::function<void(GnuplotWriter&)>& send) {
  if (!process::find_program("gnuplot"))
    throw CannotDraw(unavailable("gnuplot", "not found in PATH, but needed to draw figures", {}, install));
  // Reading its standard input, gnuplot goes on after an error and ends with 0 all the same.
  const auto ended =
      process::capture(gnuplot_command(), script_text(send) + "if (GPVAL_ERRNO != 0) { exit status 65 }\n",
                       std::chrono::minutes(2));
  std::string output = ended.out + ended.err;
  output.erase(output.find_last_not_of(" \n") + 1);
  if (ended.exit.ok()) return output;
  throw CannotDraw(unavailable("gnuplot",
                               "failed (" + process::describe(ended.exit) + ")" +
                                   (output.empty() ? ", without output" : ", output:\n" + output),
                               {}, "gnuplot --version should be 5.2 or later; " + std::string(install)));
}

} // namespace recount::plot
