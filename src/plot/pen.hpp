// What all panels are written with: text, tics and margins at places on the page.
#pragma once

#include "plot/script_rows.hpp"

#include <string>

namespace recount::plot {

/// Writes gnuplot commands for one drawing. Places are points at final size, as in its layout.
class Pen {
public:
  Pen(GnuplotWriter& gnuplot, const Drawing& drawing);
  /// "screen X, screen Y"
  [[nodiscard]] GnuplotCode screen(Vec at) const;
  /// `how`: what follows the place, such as "left tc lt 44".
  void label(const std::string& text, Vec at, const GnuplotCode& how);
  void tics(Literal axis, const Axis& of);
  void margins(const Box& plot);
  /// The caption.
  void caption();
  [[nodiscard]] bool tex() const { return tex_; }     ///< LaTeX will set the text
  [[nodiscard]] bool cells() const { return cells_; } ///< a text terminal

private:
  GnuplotWriter& gnuplot_;
  const Drawing& drawing_;
  bool tex_, cells_;
};

} // namespace recount::plot
