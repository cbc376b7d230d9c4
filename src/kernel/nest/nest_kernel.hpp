// `nest`: a loop nest written as text. See recount-nest(5).
#pragma once

#include "kernel/point.hpp"
#include "nest/definition.hpp"
#include "nest/transform.hpp"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace recount::kernel {

/// Without a file it has the parameters of every nest and can do nothing; configured() reads the file.
class NestKernel : public BasicKernel {
public:
  NestKernel();
  /// `file` names the text in messages and results. Throws recount::Error (bad_input).
  NestKernel(const std::string& file, const std::string& text);

  [[nodiscard]] const Kernel& configured(const result::Params& given) const override;
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override;
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override;
  [[nodiscard]] std::string unprepared() const override;
  [[nodiscard]] bool compiles() const override { return true; }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override;
  std::int64_t simulate_warm(const result::Params& point, model::Hierarchy& caches) const override;
  [[nodiscard]] std::string unsimulated() const override;
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override;

  /// The nest at a point. Throws recount::Error (bad_input) for a bad point, a text that has changed.
  [[nodiscard]] nest::Point at(const result::Params& given) const;
  /// The loops and accesses at a point, where the placement draws the bases of the arrays.
  [[nodiscard]] static model::Nest recorded(const nest::Point& point,
                                            const std::optional<model::Placement>& placement);

private:
  std::unique_ptr<const nest::Definition> nest_; ///< null without a file
  std::vector<nest::Order> orders_;              ///< of the loops; the written one is the first

  /// With the parameters of every nest.
  NestKernel(const std::string& file, const std::string& digest,
             std::unique_ptr<const nest::Definition> nest);
  [[nodiscard]] nest::Point formed(nest::Setting setting, const nest::Form& form) const;

  /// What find_broken_dependence() found, by parameters, order and tile.
  mutable std::map<std::tuple<std::vector<std::int64_t>, nest::Order, std::int64_t>, std::string> broken_;
};

} // namespace recount::kernel
