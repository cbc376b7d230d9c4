#include "plot/plot_output.hpp"

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "process/fd.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace recount::plot {
namespace {
namespace fs = std::filesystem;

/// Where the file is drawn: its own folder, so that the last step is a rename.
fs::path parent_of(const fs::path& target, bool into) {
  if (into) {
    std::error_code none;
    const auto temporary = fs::temp_directory_path(none);
    return none ? fs::path("/tmp") : temporary;
  }
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}
} // namespace

std::string file_contents(const fs::path& path) {
  return base::read_file(path).value_or("");
}

Delivery::Delivery(const std::string& path) : shown_(path) {
  if (path.empty()) throw bad_input("(empty path)", "no file to write");
  std::error_code none;
  const auto kind = fs::status(path, none);
  to_stdout_ = path == "-";
  into_ = to_stdout_ || (fs::exists(kind) && !fs::is_regular_file(kind));
  target_ = to_stdout_ ? fs::path("figure") : fs::absolute(path, none);
  if ((fs::is_directory(kind) && !to_stdout_) || !target_.has_filename())
    throw bad_input(path, "is a folder", "name a file in it");
  if (!into_ && fs::is_symlink(target_, none))
    target_ = fs::weakly_canonical(target_, none); // the link stays
  std::string pattern = (parent_of(target_, into_) / ".recount-figure-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw base::cannot_write(path, errno);
  folder_ = pattern;
}

Delivery::~Delivery() {
  std::error_code none;
  fs::remove_all(folder_, none);
}

std::string Delivery::name() const {
  return target_.filename().string();
}

std::string Delivery::draft() const {
  return folder_ + "/" + name();
}

void Delivery::verify(const std::string& ending) const {
  const std::string bytes = file_contents(draft());
  if (!bytes.empty() &&
      bytes.find(ending, bytes.size() - std::min<std::size_t>(bytes.size(), 256)) != std::string::npos)
    return;
  // gnuplot does not check its writes: the space that is left tells a full disk from a failure of gnuplot.
  constexpr std::uintmax_t full = 64 * 1024;
  std::error_code unknown;
  const auto space = fs::space(folder_, unknown);
  if (!unknown && space.available < full) throw base::cannot_write(shown_, ENOSPC);
  throw unavailable(shown_, bytes.empty() ? "gnuplot wrote nothing" : "gnuplot wrote only part of it");
}

std::vector<std::string> Delivery::deliver() const {
  if (into_) {
    const process::Fd file(to_stdout_ ? -1 : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!to_stdout_ && !file) throw base::cannot_write(shown_, errno);
    if (!process::write_all(to_stdout_ ? STDOUT_FILENO : file.get(), file_contents(draft())))
      throw base::cannot_write(shown_, errno);
    return {shown_};
  }
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const auto file = entry.path().filename();
    if (file == target_.filename()) continue;
    const auto to = target_.parent_path() / file;
    if (std::rename(entry.path().c_str(), to.c_str()) != 0) throw base::cannot_write(to.string(), errno);
    paths.push_back((fs::path(shown_).parent_path() / file).string());
  }
  if (std::rename(draft().c_str(), target_.c_str()) != 0) throw base::cannot_write(shown_, errno);
  paths.insert(paths.begin(), shown_);
  return paths;
}

} // namespace recount::plot
