#include "base/text.hpp"
#include "metric/metric.hpp"
#include "metric/shipped_data.hpp" // made from data/recount.metrics by the build

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

// Loads metrics.
namespace recount::metric {
namespace {

namespace files = std::filesystem;

void define(Metrics& all, Metrics more) {
  for (Metric& metric : more) {
    const auto there = std::ranges::find(all, metric.name, &Metric::name);
    if (there != all.end())
      *there = std::move(metric);
    else
      all.push_back(std::move(metric));
  }
}

void read(Metrics& all, const std::string& path) {
  std::error_code error;
  if (files::is_directory(path, error)) throw bad_input(path, "is a directory", "name a file of metrics");
  const auto text = base::read_file(path);
  if (!text)
    throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno), "name a file of metrics");
  define(all, parse(*text, path));
}

/// The metric files of a directory, in the order of their names; none when there is no such directory.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (files::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".metrics") found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

std::string configuration() {
  const char* const given = std::getenv("XDG_CONFIG_HOME");
  if (given != nullptr && *given != '\0') return given;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config" : std::string();
}

void read_path(Metrics& all) {
  const char* const given = std::getenv("RECOUNT_METRICS");
  std::vector<std::string> places{"/etc/recount/metrics"};
  if (const auto own = configuration(); !own.empty()) places.push_back(own + "/recount/metrics");
  if (given != nullptr) {
    places.clear();
    for (const std::string_view place : base::split(std::string_view(given), ':'))
      if (!place.empty()) places.emplace_back(place);
  }
  std::error_code error;
  for (const std::string& place : places) {
    if (given != nullptr && !files::is_directory(place, error)) {
      read(all, place);
      continue;
    }
    for (const std::string& file : files_of(place))
      read(all, file);
  }
}

} // namespace

const Metrics& shipped() {
  static const Metrics all = parse(shipped_data, "recount.metrics");
  return all;
}

Metrics load(const std::vector<std::string>& named) {
  Metrics all = shipped();
  read_path(all);
  for (const std::string& file : named)
    read(all, file);
  return all;
}

} // namespace recount::metric
