#include "matmul/java.hpp"

#include "java_data.hpp"
#include "process/child.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace recount::matmul {
namespace {

namespace fs = std::filesystem;
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
  } catch (const fs::filesystem_error& error) {
    missing_ = error.what();
  }
}

void Java::build() {
  std::string pattern = (fs::temp_directory_path() / "recount-java-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) {
    missing_ = "cannot create a folder in " + fs::temp_directory_path().string();
    return;
  }
  folder_ = pattern;
  const std::string source = folder_ + "/MatMul.java";
  std::ofstream(source) << java_data;
  const auto version = javac({"-version"});
  version_ = first_line(version.out.empty() ? version.err : version.out);
  const auto built = javac({"-d", folder_, source});
  if (!built.exit.ok()) missing_ = "javac failed: " + describe(built.exit) + "; " + first_line(built.err);
  if (missing_.empty()) ::setenv("CLASSPATH", folder_.c_str(), 1);
}

Java::~Java() {
  std::error_code none;
  if (!folder_.empty()) fs::remove_all(folder_, none);
}

} // namespace recount::matmul
