#include "cli/tables.hpp"

#include "caches/view/panels.hpp"
#include "check/section.hpp"
#include "check/verdict.hpp"
#include "compare/compare.hpp"
#include "matmul/figures.hpp"
#include "matmul/sections.hpp"
#include "profile/profile_figure.hpp"
#include "sweep/section.hpp"
#include "watch/watch_figure.hpp"

namespace recount::cli {

const std::vector<plot::Figure>& figures() {
  static const std::vector<plot::Figure> all = [] {
    std::vector<plot::Figure> list{check::agreement_figure(), watch::trace_figure(),
                                   profile::profile_figure()};
    for (auto&& feature : {caches::caches_figures(), matmul::product_figures(), plot::curve_figures()})
      list.insert(list.end(), feature.begin(), feature.end());
    list.push_back(compare::nodes_figure()); // where no figure of one machine is named
    return list;
  }();
  return all;
}

const std::vector<document::Section>& sections() {
  static const std::vector<document::Section> all = [] {
    std::vector<document::Section> list{check::check_section(), caches::caches_section(),
                                        caches::sweeps_section()};
    for (auto&& section : matmul::product_sections())
      list.push_back(section);
    list.push_back(compare::compare_section());
    list.push_back(sweep::values_section());
    return list;
  }();
  return all;
}

} // namespace recount::cli
