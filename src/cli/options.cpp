#include "cli/command.hpp"

#include <CLI/CLI.hpp>

namespace recount::cli {
namespace {
CLI::App& app(void* pointer) { return *static_cast<CLI::App*>(pointer); }
} // namespace

Options& Options::flag(const std::string& names, bool& into, const std::string& prose) {
  app(app_).add_flag(names, into, prose);
  return *this;
}

Options& Options::text(const std::string& names, std::string& into, const std::string& value,
                       const std::string& prose) {
  app(app_).add_option(names, into, prose)->type_name(value);
  return *this;
}

Options& Options::number(const std::string& names, long& into, const std::string& value,
                         const std::string& prose) {
  app(app_).add_option(names, into, prose)->type_name(value);
  return *this;
}

Options& Options::list(const std::string& names, std::vector<std::string>& into, const std::string& value,
                       const std::string& prose) {
  app(app_).add_option(names, into, prose)->type_name(value)->allow_extra_args(false)->take_all();
  return *this;
}

Options& Options::words(const std::string& name, std::vector<std::string>& into, const std::string& prose) {
  app(app_).add_option(name, into, prose)->type_name("");
  return *this;
}

} // namespace recount::cli
