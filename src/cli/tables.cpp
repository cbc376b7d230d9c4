#include "cli/tables.hpp"

#include "caches/view/figure.hpp"
#include "caches/view/section.hpp"
#include "check/figure.hpp"
#include "check/section.hpp"
#include "matmul/figures.hpp"
#include "matmul/sections.hpp"
#include "profile/figure.hpp"
#include "watch/figure.hpp"

namespace recount::cli {

const std::vector<figure::Figure>& figures() {
  static const std::vector<figure::Figure> all = [] {
    std::vector<figure::Figure> list{figure::agreement_figure(), figure::trace_figure(),
                                     figure::profile_figure()};
    for (auto&& feature : {figure::caches_figures(), figure::product_figures(), figure::curve_figures()})
      list.insert(list.end(), feature.begin(), feature.end());
    return list;
  }();
  return all;
}

const std::vector<report::Section>& sections() {
  static const std::vector<report::Section> all = [] {
    std::vector<report::Section> list{report::check_section(), report::caches_section(),
                                      report::sweeps_section()};
    for (auto&& section : report::product_sections())
      list.push_back(section);
    return list;
  }();
  return all;
}

} // namespace recount::cli
