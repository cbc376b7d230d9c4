// Figures: gnuplot, its terminals, the font.
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "process/child.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::doctor {
namespace {
using State = Finding::State;
using namespace std::chrono_literals;

Finding gnuplot() {
  const std::string remedy = "sudo apt-get install gnuplot-nox";
  if (!process::find_program("gnuplot"))
    return {State::missing, "gnuplot", "not found in PATH: sweeps work, figures cannot be drawn", remedy};
  try {
    const auto version = process::capture({.argv = {"gnuplot", "--version"}}, {}, 10s);
    const auto got =
        process::capture({.argv = {"gnuplot", "-e", "set print '-'; print GPVAL_TERMINALS"}}, {}, 10s);
    const auto have = base::split(base::trim(got.out), ' ');
    std::vector<std::string> present, absent;
    for (const std::string wanted : {"pdfcairo", "svg", "pngcairo", "tikz", "cairolatex", "dumb"})
      (std::find(have.begin(), have.end(), wanted) != have.end() ? present : absent).push_back(wanted);
    const std::string name(base::trim(version.out));
    if (absent.empty())
      return {State::works, "gnuplot", fmt::format("{} with {}", name, fmt::join(present, ", ")), {}};
    return {State::limited, "gnuplot", fmt::format("{} lacks {}", name, fmt::join(absent, ", ")), remedy};
  } catch (const Error& e) {
    return {State::missing, "gnuplot", e.problem().cause, remedy};
  }
}

Finding font() {
  const std::string wanted = "Liberation Sans", remedy = "sudo apt-get install fonts-liberation";
  if (!process::find_program("fc-match"))
    return {State::note, "font", "fc-match is not installed, so it is unknown whether " + wanted + " is",
            "sudo apt-get install fontconfig"};
  try {
    const auto got = process::capture({.argv = {"fc-match", "-f", "%{family[0]}", wanted}}, {}, 10s);
    if (base::trim(got.out) == wanted) return {State::works, "font", wanted + " is installed", {}};
    return {State::limited, "font",
            fmt::format("{} is not installed; figures use {}", wanted, base::trim(got.out)), remedy};
  } catch (const Error& e) {
    return {State::limited, "font", e.problem().cause, remedy};
  }
}
} // namespace

Area examine_figures() {
  return {"Figures", {gnuplot(), font()}};
}

} // namespace recount::doctor
