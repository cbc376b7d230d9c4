// The observations of a check by kernel, point, metric and witness.
#pragma once

#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "kernel/proofs.hpp"
#include "run/result/results_file.hpp"
#include "run/verdict/verdict.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace recount::check {

/// The observations of a results file by kernel, point, metric and witness, each in the order of repetitions.
class Index {
public:
  using Key = std::tuple<std::string, result::Params, std::string, Witness>;
  using Series = std::map<int, const result::Observation*>;

  explicit Index(const result::Results& results) {
    for (const auto& o : results.observations)
      series_[{o.kernel, o.params, o.metric, o.witness}][o.repetition] = &o;
    for (const auto& f : results.failures)
      failures_.emplace(std::pair(f.kernel, f.params), f.reason.text());
  }
  [[nodiscard]] const Series& of(const std::string& kernel, const result::Params& point,
                                 const std::string& metric, const Witness& witness) const {
    return base::value_at(series_, {kernel, point, metric, witness});
  }
  /// Why the run there gave nothing; empty when it did.
  [[nodiscard]] std::string failure(const std::string& kernel, const result::Params& point) const {
    return base::value_at(failures_, {kernel, point});
  }
  [[nodiscard]] const std::map<Key, Series>& all() const { return series_; }
  /// Kernel::expected(), computed once. Not thread-safe.
  [[nodiscard]] const std::vector<kernel::Expectation>& expected(const kernel::Kernel& kernel,
                                                                 const result::Params& point) const {
    const auto [at, fresh] = expected_.try_emplace({kernel.name(), point});
    if (fresh) at->second = kernel.expected(point);
    return at->second;
  }

private:
  mutable std::map<std::pair<std::string, result::Params>, std::vector<kernel::Expectation>> expected_;
  std::map<Key, Series> series_;
  std::map<std::pair<std::string, result::Params>, std::string> failures_;
};

/// The process that made the observation of that number.
[[nodiscard]] int process_number(int repetition);
/// The measurement of a witness, its values by process; `otherwise` is the reason where there is none.
[[nodiscard]] Measurement measurement(const Index::Series& series, const std::string& otherwise);
/// perf - papi, pass by pass, by process.
[[nodiscard]] statistics::Groups differences(const Index::Series& perf, const Index::Series& papi);

/// The counts of the metric by the witnesses at the point of the proof, and the expected count of its kernel
/// for proof.preset: in closed form, else from the simulation in the results.
[[nodiscard]] Trial make_trial(const std::string& metric, const kernel::Proof& proof, const Index& index);

/// The same for a proof of kernel::side_proofs(): what is not the purpose of the point may be disturbed by
/// it, so that some occurrences, and of caches, simulated or where prefetchers are tolerated, a share of the
/// accesses, are no contradiction.
[[nodiscard]] Trial make_side_trial(const std::string& metric, const kernel::Proof& proof,
                                    const Index& index);

/// The counts at the point of the relation, with the expected count from those at its base.
[[nodiscard]] Trial make_trial(const std::string& metric, const kernel::Relation& relation,
                               const Index& index);

/// The expected count of a preset at a point; none, with the reason.
struct Statement {
  std::optional<Stated> stated;
  Reason reason;
};
[[nodiscard]] Statement statement(const std::string& preset, const kernel::Kernel& kernel,
                                  const result::Params& point, const Index& index);

/// Whether the results are those of `recount check`.
[[nodiscard]] bool is_check(const result::Results& results) noexcept;

/// One verdict for each metric that was counted and that its kernel or the model states, by each kernel's own
/// tolerance; relations between presets are left out. Standard presets first, in PAPI's order.
[[nodiscard]] std::vector<PresetVerdict> read_verdicts(const result::Results& results);

} // namespace recount::check
