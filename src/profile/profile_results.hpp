// A profile as JSON and as results.
#pragma once

#include "profile/profile_text.hpp"
#include "result/observation.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace recount::result {
class Writer;
}

namespace recount::profile {

[[nodiscard]] std::string profile_json(const Profile& profile, const std::vector<By>& by);

/// Opened before the target starts, so that errors occur before the measurement.
class ProfileResults {
public:
  /// `output`: a results file, `plot`: a figure that check_outputs() has accepted; empty: none. `by`: what
  /// the figure attributes to. `verdicts`: the marks of the events by name. Throws Error for a results file
  /// that cannot be created.
  ProfileResults(const std::string& output, std::string plot, By by,
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
