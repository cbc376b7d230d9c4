#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

// In place of drawing, in a build without figures (meson option `figures`).
namespace recount::plot {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& instead) {
  throw CannotDraw(unavailable("figure " + name, "recount was built without figures",
                               "meson option figures = false", instead));
}

constexpr const char* elsewhere = "run recount plot FILE with a recount built with figures";

} // namespace

void check_drawable(Format /*format*/) {
  refuse("--plot", elsewhere);
}

Drawn draw(const Sheet& sheet, const Options& /*options*/) {
  refuse(sheet.name, elsewhere);
}

std::string draw_text(const Sheet& sheet, TextSize /*size*/) {
  refuse(sheet.name, elsewhere);
}

std::string draw_live(const LiveCurve& /*curve*/, TextSize /*size*/) {
  refuse("live", "recount watch --plain prints a line for each interval");
}

} // namespace recount::plot
