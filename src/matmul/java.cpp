#include "matmul/java.hpp"

#include "java_data.hpp"
#include "process/child.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

#include <cstdlib>
#include <fstream>

namespace recount::matmul {
namespace {

constexpr auto longest_compilation = std::chrono::seconds(60);
constexpr const char* package = " (Debian: default-jdk-headless)";

process::Captured javac(std::vector<std::string> arguments) {
  process::Spawn spawn;
  spawn.argv = {"javac"};
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  return process::capture(std::move(spawn), {}, longest_compilation);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

} // namespace

Java::Java() {
  for (const char* program : {"javac", "java"})
    if (!process::find_program(program)) {
      missing_ = std::string(program) + " not found in PATH" + package;
      return;
    }
  try {
    build();
  } catch (const Error& error) {
    missing_ = error.problem().subject + ": " + error.problem().cause;
  }
}

void Java::build() {
  const std::string& folder = folder_.emplace("recount-java").path();
  const std::string source = folder + "/MatMul.java";
  std::ofstream(source) << java_data;
  const auto version = javac({"-version"});
  version_ = first_line(version.out.empty() ? version.err : version.out);
  const auto built = javac({"-d", folder, source});
  if (!built.exit.ok()) missing_ = "javac failed: " + describe(built.exit) + "; " + first_line(built.err);
  if (missing_.empty()) ::setenv("CLASSPATH", folder.c_str(), 1);
}

} // namespace recount::matmul
