// In place of live.cpp, in a build without figures.
#include "plot/live.hpp"

#include <recount/error.hpp>

namespace recount::figure {

std::string draw_live(const LiveCurve& /*curve*/, TextSize /*size*/) {
  throw unavailable("the live figure", "this recount was built without figures",
                    "meson option figures = false", "recount watch --plain prints a line for each interval");
}

} // namespace recount::figure
