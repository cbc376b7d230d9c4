#include "kernel/blocks/helper.hpp"

#include "kernel/system/cpus.hpp"

#include <chrono>

namespace recount::kernel {

Helper::Helper(int cpu, void (*play)(void* context), void* context)
    : thread_([this, cpu, play, context] {
        static_cast<void>(move_to(cpu));
        while (!ends_) {
          if (awake_ == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
          busy_ = awake_;
          while (awake_ != 0 && !ends_)
            play(context);
        }
      }) {}

Helper::~Helper() {
  ends_ = true;
  thread_.join();
}

} // namespace recount::kernel
