// The loops of `matmul`, one function per variant, templates over the memory. Matrices are n x n, by rows.
//
// `memory.loop(first, last, step, body)` is a plain for loop; x = memory.a(i) loads an element of a;
// memory.add_c(i, v) loads and stores c[i]. Each load is a separate statement, which fixes the order.
#pragma once

#include <cstdint>

namespace recount::kernel {

/// c = a b, the sum in a register: two loads per step.
template <class Memory>
inline void matmul_ijk(Memory memory, std::int64_t n) {
  memory.loop(0, n, 1, [&](auto i) {
    memory.loop(0, n, 1, [&](auto j) {
      auto sum = memory.zero();
      memory.loop(0, n, 1, [&](auto k) {
        const auto x = memory.a(i * n + k);
        const auto y = memory.b(k * n + j);
        sum += x * y;
      });
      memory.set_c(i * n + j, sum);
    });
  });
}

/// c += a x, the sum in memory as the source text says: three loads and one store per step. `right(k, j)`
/// loads an element of the matrix on the right.
template <class Memory, class Right>
inline void matmul_in_memory(Memory memory, std::int64_t n, Right right) {
  memory.loop(0, n, 1, [&](auto i) {
    memory.loop(0, n, 1, [&](auto j) {
      memory.loop(0, n, 1, [&](auto k) {
        const auto x = memory.a(i * n + k);
        const auto y = right(k, j);
        memory.keep_in_c(i * n + j, x * y);
      });
    });
  });
}
template <class Memory>
inline void matmul_ijk_mem(Memory memory, std::int64_t n) {
  matmul_in_memory(memory, n, [&](auto k, auto j) { return memory.b(k * n + j); });
}
/// With b already transposed in t.
template <class Memory>
inline void matmul_by_transposed(Memory memory, std::int64_t n) {
  matmul_in_memory(memory, n, [&](auto k, auto j) { return memory.t(j * n + k); });
}

/// t = b with rows and columns exchanged.
template <class Memory>
inline void matmul_transpose(Memory memory, std::int64_t n) {
  memory.loop(0, n, 1, [&](auto i) {
    memory.loop(0, n, 1, [&](auto j) {
      const auto x = memory.b(j * n + i);
      memory.set_t(i * n + j, x);
    });
  });
}

/// c += a b along rows, an element of a in a register: two loads and one store per step. Of a block: its rows
/// of c and a, its columns of c and b, its columns of a and rows of b.
template <class Memory, class First, class Last>
inline void matmul_block(Memory memory, std::int64_t n, First i_first, Last i_last, First j_first,
                         Last j_last, First k_first, Last k_last) {
  memory.loop(i_first, i_last, 1, [&](auto i) {
    memory.loop(k_first, k_last, 1, [&](auto k) {
      const auto x = memory.a(i * n + k);
      memory.loop(j_first, j_last, 1, [&](auto j) {
        const auto y = memory.b(k * n + j);
        memory.add_c(i * n + j, x * y);
      });
    });
  });
}

/// The same of whole matrices.
template <class Memory>
inline void matmul_ikj(Memory memory, std::int64_t n) {
  matmul_block(memory, n, std::int64_t{0}, n, std::int64_t{0}, n, std::int64_t{0}, n);
}

/// c += a b, blocks in the order ii, jj, kk and i, k, j inside: two loads and one store per step. The last
/// blocks of a row or column are smaller when `block` does not divide n. memory.separate(f) calls f as a
/// separate function, without register pressure from the surrounding loops.
template <class Memory>
inline void matmul_blocked(Memory memory, std::int64_t n, std::int64_t block) {
  memory.loop(0, n, block, [&](auto ii) {
    memory.loop(0, n, block, [&](auto jj) {
      memory.loop(0, n, block, [&](auto kk) {
        memory.separate([=] {
          matmul_block(memory, n, ii, memory.least(ii + block, n), jj, memory.least(jj + block, n), kk,
                       memory.least(kk + block, n));
        });
      });
    });
  });
}

} // namespace recount::kernel
