// Figures from results: gnuplot draws, one style for all. The front of this room.
#pragma once

#include "check/verdict.hpp"
#include "plot/format.hpp"
#include "result/read.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::figure {

/// Which of the observations to draw; empty lists leave the choice to the figure.
struct Choice {
  std::vector<std::string> metrics;   ///< preset or event names, "seconds", "tsc_cycles"
  std::vector<std::string> witnesses; ///< "clock", "perf", "papi", "model", "model:NAME"
};

/// The choice with "model" replaced by the models of described machines ("model:i7-9700") where the results
/// hold no other model. A word that selects nothing becomes a warning. Throws recount::Error (bad_input),
/// naming what is there, when no word of a list selects anything.
[[nodiscard]] Choice resolve(const Choice& choice, const result::Results& results,
                             std::vector<std::string>& warnings);

/// A figure that recount can draw.
struct Entry {
  std::string name;  ///< "access-time"
  std::string prose; ///< what it shows, one line
  std::string needs; ///< what a results file must hold for it, one line
};

/// All figures.
[[nodiscard]] const std::vector<Entry>& names();
/// The figure that suits these results under the choice: times before counts, and the axis with more points.
/// Throws recount::Error (bad_input), saying what the results hold and what each figure needs, when there is
/// none.
[[nodiscard]] std::string suitable(const result::Results& results, const Choice& choice = {});

/// What a figure of some results says about itself.
struct Described {
  std::string prose;                    ///< what it shows, as in Entry
  std::vector<std::string> panels;      ///< their titles: kernel, metric, witness
  std::vector<std::string> small_print; ///< machine, what the band is, what is modelled, what is missing
  std::vector<std::string> warnings;    ///< as in Drawn
};
/// The same without drawing; nothing when the results cannot fill the figure, or recount was built without
/// figures. Throws recount::Error (bad_input) for an unknown figure.
[[nodiscard]] std::optional<Described> describe(const std::string& name, const result::Results& results,
                                                const Choice& choice = {});

/// Before something is measured for a figure: throws recount::Error (unavailable) where it could not be drawn
/// then, since gnuplot is missing, does not start or lacks the terminal, or recount was built without
/// figures.
void check_drawable(Format format);

/// One file to draw.
struct Target {
  Format format = Format::pdf;
  std::string path; ///< "-": stdout; a regular file is replaced whole; anything else is written into
};

struct Options {
  Choice choice;
  double width = 3.33; ///< inches; from 2 to 20
  std::vector<Target> targets;
  std::optional<std::string> script; ///< also writes a gnuplot script that holds its data
};

struct Drawn {
  std::vector<std::string> files;    ///< what was written, cairolatex's second file included
  std::vector<std::string> warnings; ///< series that were not counted, multiplexing, missing fonts, ...
};

/// Draws a figure. Throws recount::Error: bad_input for an unknown figure (naming the nearest), for results
/// that cannot fill it, and for a path that cannot be written; unavailable when gnuplot is missing or fails
/// (with its own words) and when the disk is full. No file is then left or replaced. Never raises SIGPIPE.
/// One call at a time per thread; starts a child process.
Drawn draw(const std::string& name, const result::Results& results, const Options& options);

/// The figure "agreement" of verdicts that are at hand, with their own tolerances; `results` tells the
/// machine. As draw() else.
Drawn draw_agreement(const std::vector<analysis::PresetVerdict>& verdicts, const result::Results& results,
                     const Options& options);

/// How large a text terminal is.
struct TextSize {
  long columns = 80, rows = 24;
  bool colour = false; ///< ANSI colours
};
/// The figure as text, for a terminal. Throws as draw() does.
[[nodiscard]] std::string draw_text(const std::string& name, const result::Results& results,
                                    const Choice& choice = {}, TextSize size = {});

/// As draw_agreement().
[[nodiscard]] std::string draw_agreement_text(const std::vector<analysis::PresetVerdict>& verdicts,
                                              const result::Results& results, TextSize size = {});

} // namespace recount::figure
