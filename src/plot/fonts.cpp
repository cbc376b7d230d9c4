#include "plot/fonts.hpp"

#include "plot/style.hpp"
#include "process/child.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

namespace recount::plot {

std::optional<std::string> font_warning() {
  const std::string name(font.text());
  const std::string remedy = " (Debian: apt-get install fonts-liberation)";
  if (!process::find_program("fc-match"))
    return "cannot check whether the font " + name + " is installed: fc-match not found" + remedy;
  process::Spawn spawn;
  spawn.argv = {"fc-match", "-f", "%{family[0]}", name};
  try {
    const auto answer = process::capture(spawn, {}, std::chrono::seconds(20));
    if (!answer.exit.ok())
      return "fc-match fails for the font " + name + ": " + process::describe(answer.exit);
    if (answer.out == name) return {};
    return "the font " + name + " is missing, " + answer.out + " is used instead, and labels may not fit" +
           remedy;
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

} // namespace recount::plot
