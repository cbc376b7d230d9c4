// Results of the kernel "command".
#pragma once

#include "result/observation.hpp"
#include "stat/stat_run.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace recount::result {
class Writer;
}

namespace recount::stat {

/// Writes recount-results(5); does nothing without a file. Throws as result::Writer does.
class CommandResults {
public:
  /// `plan`: the requested settings besides the subject (the command line or the processes).
  /// `verdicts`: row_marks() of what is counted.
  CommandResults(const std::string& path, std::string subject, std::map<std::string, std::string> plan,
                 std::map<std::string, std::string> verdicts);
  ~CommandResults();
  void write(const stat::Slice& slice);
  /// Run, kernel and params are filled in.
  void write(result::Section section);

private:
  void write(result::Observation observation, const stat::Slice& slice);
  std::string subject_, run_;
  std::unique_ptr<result::Writer> writer_;
};

} // namespace recount::stat
