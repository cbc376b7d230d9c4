// Executes a built-in kernel once, within a section that tells where its data are, from the page that they
// begin in: matmul NAME=VALUE ...
#include "kernel/kernel.hpp"

#include <recount/sections.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  using namespace recount;
  const kernel::Kernel& kernel = kernel::find(argv[1]);
  kernel::Params point;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('=')),
                      value = word.substr(name.size() + 1);
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    point[name] = *end == '\0' ? kernel::ParamValue(std::int64_t{number}) : kernel::ParamValue(value);
  }
  point = kernel::complete(kernel, point);
  const auto instance = kernel.prepare(point);
  const kernel::Region region = instance->region();
  char name[64];
  const kernel::Placement placement = instance->placement();
  const auto bytes = static_cast<unsigned long long>(kernel.bytes(point) + placement.offset);
  std::snprintf(name, sizeof name, "%llx+%llx",
                static_cast<unsigned long long>(placement.base) -
                    static_cast<unsigned long long>(placement.offset),
                bytes);
  recount_section_begin(name);
  region();
  recount_section_end(name);
}
