// `external`: any command as a kernel, in any language. See recount-kernels(7).
#include "kernel/point.hpp"
#include "kernel/command_line.hpp"
#include "kernel/kernels.hpp"
#include "process/child.hpp"
#include "process/spawn.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

namespace recount::kernel {

namespace {

std::string last_words(const process::Captured& ended) {
  std::string words = ended.err.empty() ? ended.out : ended.err;
  while (words.ends_with('\n'))
    words.pop_back();
  words = words.substr(words.rfind('\n') + 1);
  return words.empty() ? "" : "; its output: " + words.substr(0, 300);
}

class ExternalInstance : public Instance {
public:
  explicit ExternalInstance(std::vector<std::string> words) : words_(std::move(words)) {}
  Region region() override {
    return {[](void* self) { static_cast<ExternalInstance*>(self)->run(); }, this};
  }
  [[nodiscard]] std::int64_t accesses() const override { return 0; }
  [[nodiscard]] std::optional<double> own_seconds() const override { return seconds_; }
  [[nodiscard]] std::string elsewhere() const override {
    return "a command runs in its own process: its counts need inherited events";
  }
  void warm() override {} // each run of it is to be a fresh process

private:
  void run() {
    process::Spawn spawn;
    spawn.argv = words_;
    spawn.own_group = false; // ends with the run that started it
    const process::Captured ended = process::capture(std::move(spawn));
    if (!ended.exit.ok()) throw unavailable(words_[0], describe(ended.exit) + last_words(ended));
    seconds_ = told_seconds(ended.out);
  }

  std::vector<std::string> words_;
  std::optional<double> seconds_;
};

class ExternalKernel : public ClosedFormKernel {
public:
  ExternalKernel()
      : ClosedFormKernel(
            "external", "runs a command per repetition; uses its own time where it prints one",
            {text_parameter("command", "the command; {variant}, {n}, {block} and {element} are replaced",
                            "true"),
             text_parameter("language", "language of the program (default: from the program's name)", ""),
             text_parameter("variant", "value of {variant}", "ijk"),
             text_parameter("element", "value of {element}", "f64"),
             number_parameter("n", "value of {n}", 600, 1, 1 << 20),
             number_parameter("block", "value of {block}", 128, 1, 1 << 20)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    static_cast<void>(words(point));
    return 1; // of this process; the memory of the command is unknown
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    auto all = words(point);
    if (!process::find_program(all[0])) throw unavailable(all[0], "program not found in PATH");
    return std::make_unique<ExternalInstance>(std::move(all));
  }
  [[nodiscard]] std::string unsimulated() const override {
    return "the loads and stores of a command are unknown";
  }

private:
  [[nodiscard]] std::vector<std::string> words(const result::Params& given) const {
    const result::Params point = complete(*this, given);
    const std::string subject = "--command";
    return filled_in(words_of(text(point, "command"), subject),
                     {{"variant", text(point, "variant")},
                      {"element", text(point, "element")},
                      {"n", std::to_string(number(point, "n"))},
                      {"block", std::to_string(number(point, "block"))}},
                     subject);
  }
};

} // namespace

const Kernel& external_kernel() {
  static const ExternalKernel kernel;
  return kernel;
}

} // namespace recount::kernel
