// A profile as results, and the figure of them.
#pragma once

#include "profile/report.hpp"
#include "result/run.hpp"

#include <map>
#include <memory>
#include <string>

namespace recount::result {
class Writer;
}

namespace recount::profile {

/// Opened before the target starts, so that errors occur before the measurement.
class ProfileResults {
public:
  /// Empty: no such file. `plot` is past check_outputs(). `by`: how the figure attributes. Throws Error for a
  /// results file that cannot be made. `verdicts`: the marks of the events by name.
  ProfileResults(const std::string& output, std::string plot, profile::By by,
                 std::map<std::string, std::string> verdicts);
  ~ProfileResults();
  /// Writes and draws. Throws Error as result::Writer and plot::draw() do.
  void finish(const Profile& profile);

private:
  std::string plot_;
  result::Run header_;
  std::unique_ptr<result::Writer> writer_;
};

} // namespace recount::profile
