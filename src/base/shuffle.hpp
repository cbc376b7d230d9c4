// A random order that is the same with every standard library.
#pragma once

#include <random>
#include <span>
#include <utility>

namespace recount::base {

/// Fisher and Yates. The standard leaves the order of the one in <algorithm> to the library; this one depends
/// on the generator alone.
template <class T>
void shuffle(std::span<T> all, std::mt19937_64& random) {
  for (std::size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[random() % i]);
}

} // namespace recount::base
