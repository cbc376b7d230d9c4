#include "matmul/repetition_numbers.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <vector>

namespace recount::matmul {
namespace {

/// A value of a run: what was measured, and in which of its repetitions.
struct ValueKey {
  std::size_t what = 0;
  int repetition = 0;
};

std::size_t key_of(std::size_t what, int repetition) {
  return std::hash<std::size_t>()(what) * 1000003 + static_cast<std::size_t>(repetition);
}

/// The studies of one machine.
class Studies {
public:
  int add(const std::vector<ValueKey>& values) {
    int first = next_;
    for (const int begin : begins_)
      if (std::ranges::none_of(values, [&](const ValueKey& m) {
            return taken_.contains(key_of(m.what, begin + m.repetition));
          })) {
        first = begin;
        break;
      }
    begins_.insert(first);
    for (const ValueKey& m : values) {
      taken_.insert(key_of(m.what, first + m.repetition));
      next_ = std::max(next_, first + m.repetition + 1);
    }
    return first;
  }

private:
  std::set<int> begins_;
  std::unordered_set<std::size_t> taken_;
  int next_ = 0;
};

std::string machine_of(const result::Run& run) {
  return run.cpu + " on " + run.host;
}

} // namespace

std::map<std::string, int> first_repetitions(const result::Results& results) {
  std::map<std::string, int> first;
  std::map<std::string, std::size_t> runs; // by machine
  for (const auto& run : results.runs)
    ++runs[machine_of(run)];
  std::map<std::string, std::vector<ValueKey>> values; // of runs that are not alone
  for (const auto& run : results.runs)
    if (runs[machine_of(run)] > 1) values[run.id];
  if (values.empty()) return first;
  for (const auto& o : results.observations)
    if (const auto of_run = values.find(o.run); of_run != values.end())
      of_run->second.push_back({std::hash<std::string>()(o.kernel + ' ' + result::describe(o.params) + ' ' +
                                                         o.witness + ' ' + o.metric),
                                o.repetition});
  std::map<std::string, Studies> studies; // by machine
  for (const auto& run : results.runs)
    if (const auto of_run = values.find(run.id); of_run != values.end())
      first[run.id] = studies[machine_of(run)].add(of_run->second);
  return first;
}

} // namespace recount::matmul
