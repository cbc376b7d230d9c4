// In place of drawing, in a build without figures (meson option `figures`).
#include "plot/figure.hpp"

#include <recount/error.hpp>

namespace recount::figure {
namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw unavailable("figure " + name, "this recount was built without figures",
                    "meson option figures = false",
                    "draw it elsewhere: recount plot FILE takes the results file as it is");
}

} // namespace

std::optional<Described> describe(const std::string& /*name*/, const result::Results& /*results*/,
                                  const Choice& /*choice*/) {
  return {};
}

void check_drawable(Format /*format*/) {
  refuse("--plot");
}

Drawn draw(const std::string& name, const result::Results& /*results*/, const Options& /*options*/) {
  refuse(name);
}

std::string draw_text(const std::string& name, const result::Results& /*results*/, const Choice& /*choice*/,
                      TextSize /*size*/) {
  refuse(name);
}

Drawn draw_agreement(const std::vector<analysis::PresetVerdict>& /*verdicts*/,
                     const result::Results& /*results*/, const Options& /*options*/) {
  refuse("agreement");
}

std::string draw_agreement_text(const std::vector<analysis::PresetVerdict>& /*verdicts*/,
                                const result::Results& /*results*/, TextSize /*size*/) {
  refuse("agreement");
}

} // namespace recount::figure
