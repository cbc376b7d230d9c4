#include "profile/calibration.hpp"

#include "process/write_all.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <sys/mman.h>

namespace recount::profile {
namespace {
constexpr std::size_t slot = 64; ///< bytes per function
constexpr unsigned char ret = 0xc3;

/// First instructions by their bytes, `count` values from `first` on for the last of them.
struct FirstInstruction {
  std::array<unsigned char, 4> bytes;
  std::size_t size;
  unsigned count;
  std::array<unsigned char, 8> body;
  std::size_t body_size;
};
constexpr std::array<unsigned char, 8> push{0x55, 0x48, 0x83, 0xc4, 0x08}; // push rbp; add rsp, 8
constexpr std::array<unsigned char, 8> sub{0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08}; // sub, add rsp, 8
constexpr std::array<unsigned char, 8> nop{0x90}, jump{0xeb, 0x00}, endbr{0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::array<unsigned char, 8> other_no_op{0x89, 0xc0}; // mov eax, eax
constexpr FirstInstruction first_instructions[] = {
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 1, endbr, 4}, // endbr64
    {{0x50}, 1, 8, push, 5},                    // push of rax...rdi
    {{0x41, 0x50}, 2, 8, push, 5},              // push of r8...r15
    {{0x48, 0x83, 0xec}, 3, 1, sub, 8},         // sub rsp, imm8
    {{0x48, 0x81, 0xec}, 3, 1, sub, 8},         // sub rsp, imm32
    {{0x90}, 1, 1, nop, 1},
    {{0x66, 0x90}, 2, 1, nop, 1},
    {{0x0f, 0x1f}, 2, 1, nop, 1},
    {{0x66, 0x0f, 0x1f}, 3, 1, nop, 1},
    {{0xe8}, 1, 2, jump, 2}, // call, jmp
    {{0xeb}, 1, 1, jump, 2},
    {{0x70}, 1, 16, jump, 2},       // jcc rel8
    {{0x0f, 0x80}, 2, 16, jump, 2}, // jcc rel32
};

bool is(const FirstInstruction& kind, std::span<const unsigned char> code) {
  if (code.size() < kind.size) return false;
  const std::size_t last = kind.size - 1;
  return std::ranges::equal(code.first(last), std::span(kind.bytes).first(last)) &&
         code[last] >= kind.bytes[last] && code[last] - kind.bytes[last] < static_cast<int>(kind.count);
}
} // namespace

std::span<const unsigned char> calibration_body(std::span<const unsigned char> code) {
  for (const FirstInstruction& kind : first_instructions)
    if (is(kind, code)) return std::span(kind.body).first(kind.body_size);
  return std::span(other_no_op).first(2);
}

Calibration::Calibration(const std::vector<Site>& sites) {
#if defined(__x86_64__)
  std::vector<unsigned char> code(sites.size() * slot, ret);
  process::Fd file(::memfd_create("recount-calibration", MFD_CLOEXEC));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto body = calibration_body(sites[i].first);
    std::ranges::copy(body, code.begin() + static_cast<std::ptrdiff_t>(i * slot));
    Site site = sites[i];
    site.offset = i * slot;
    if (site.exits && !site.exits->empty())
      site.exits = std::vector<std::uint64_t>{site.offset + body.size()};
    site.file = file.get();
    sites_.all.push_back(std::move(site));
  }
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  void* const mapped = file && process::write_all(file.get(), text)
                           ? ::mmap(nullptr, code.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0)
                           : MAP_FAILED;
  if (mapped == MAP_FAILED) {
    sites_.all.clear();
    return;
  }
  code_ = static_cast<unsigned char*>(mapped);
  bytes_ = code.size();
  sites_.files.push_back(std::move(file));
#else
  static_cast<void>(sites);
#endif
}

Calibration::~Calibration() {
  if (code_ != nullptr) ::munmap(code_, bytes_);
}

void Calibration::call(std::size_t site) const {
  reinterpret_cast<void (*)()>(code_ + site * slot)();
}

} // namespace recount::profile
