// Observations under a preset table: PAPI and recount read their tables once, so each is a process of its
// own.
#pragma once

#include "../sweep/kernels.hpp"
#include "base/process/child.hpp"
#include "count/preset/catalogue.hpp"
#include "faults.hpp"
#include "run/result/observation.hpp"
#include "run/witness/backend.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace recount::test {

/// Tables as the environment hands them to PAPI, under rows for this CPU. Empty: none.
struct Tables {
  std::string presets, user_events;
};

/// A file with rows for this CPU, removed when done. In the forked child only.
inline void set_table(const char* variable, const std::string& rows) {
  if (rows.empty()) return;
  std::string path = "/tmp/recount-rows-XXXXXX";
  const int fd = ::mkstemp(path.data());
  ::close(fd);
  std::ofstream(path) << "CPU," << preset::default_pmu()->name << "\n" << rows;
  ::setenv(variable, path.c_str(), 1);
}

/// What a witness says of a region of so many page faults.
inline std::vector<result::Observation> observe_under(const Tables& tables, const std::string& name,
                                                      const std::vector<std::string>& metrics,
                                                      std::size_t pages = 321) {
  const auto child = process::in_fork(
      [&](int fd) {
        set_table("PAPI_CSV_EVENT_FILE", tables.presets);
        set_table("PAPI_USER_EVENTS_FILE", tables.user_events);
        Faults faults(pages);
        faults.execute();
        const witness::Task task{"R", "steps", kernel::complete(steps_kernel(), {}), 0, name, metrics};
        std::string text;
        for (const auto& o : witness::find(name).observe(steps_kernel(), &faults, task))
          text += result::to_line(o) + "\n";
        for (const char* variable : {"PAPI_CSV_EVENT_FILE", "PAPI_USER_EVENTS_FILE"})
          if (const char* path = std::getenv(variable)) ::unlink(path);
        return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
      },
      std::chrono::seconds(60));
  BOOST_TEST_REQUIRE(child.exit.ok(), process::describe(child.exit) << ": " << child.err);
  std::vector<result::Observation> all;
  std::istringstream lines(child.out);
  for (std::string line; std::getline(lines, line);)
    all.push_back(std::get<result::Observation>(result::parse_line(line, "child")));
  return all;
}

} // namespace recount::test
