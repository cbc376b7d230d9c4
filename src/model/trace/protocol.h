/* The memory that recount and its Valgrind tool share: C99 and C++.
 *
 * One file in memory (memfd_create(2)) holds a header page and RT_SLOTS slots. A process that is traced owns one slot:
 * a control page, a draft of one chunk, and a ring of RT_CHUNKS chunks of words. The tool writes words at `position`, in
 * the draft, copies it to the ring when it is full, publishes the chunk by advancing `head`, and waits while all chunks
 * are full; recount consumes chunks and advances `tail`. The draft stays in the cache of the tool's core: to write
 * where another core has just read would cost several times as much.
 *
 * A word without RT_CONTROL is an address: the next access of the current block. RT_BLOCK begins an execution of a block
 * (straight-line code with side exits), RT_EXIT ends it at a side exit after so many instructions; without one it was
 * executed to its end. RT_SKIPPED takes the place of a conditional access that was not made. RT_THREAD names
 * the thread from here on. Other words begin a record, followed by the number of words in RT_LENGTH.
 */
#ifndef RECOUNT_TRACE_PROTOCOL_H
#define RECOUNT_TRACE_PROTOCOL_H

#include <stdint.h>

#define RT_VERSION 11u
enum {
  RT_SLOTS = 512,
  RT_CHUNKS = 32,
  RT_CHUNK_WORDS = 4096,
  RT_PAGE = 4096,
  RT_SLOT_BYTES = RT_PAGE + (1 + RT_CHUNKS) * RT_CHUNK_WORDS * 8
};

/* Of words of 64 bits. */
#define RT_CONTROL (UINT64_C(1) << 63)
#define RT_KIND(word) ((word) >> 56)
#define RT_WORD(kind, payload) (UINT64_C(1) * (kind) << 56 | (payload))
#define RT_PAYLOAD(word) ((word) & ((UINT64_C(1) << 56) - 1))
#define RT_LENGTH(word) ((word) & 0xffff)
enum { /* bits 56 to 63 */
  RT_BLOCK = 0x80,     /* number of the block */
  RT_EXIT = 0x81,      /* instructions executed */
  RT_SKIPPED = 0x82,
  RT_THREAD = 0x83,    /* thread that executes from here on; its number for Linux << 16 */
  RT_DEFINE = 0x84,    /* record: number of the block; instructions | accesses << 32; each instruction, see
                          RT_INSTRUCTION; each access, see RT_ACCESS */
  RT_MODULE = 0x85,    /* record: start, end, offset in the file, its name in bytes that end with 0 */
  RT_UNDECODED = 0x86, /* record: address, 16 bytes of the instruction there */
  RT_SECTION = 0x87,   /* record: the program's message in bytes that end with 0 */
  RT_REQUEST = 0x88,   /* record: RT_ASK ..., three words of the program's: a request of the program to recount */
  RT_CODE = 0x89,      /* record, on request: number of the block just defined, bytes of its instructions */
  /* Where data are, on request. */
  RT_HEAP = 0x90,      /* record: address of a heap block, bytes, site of its allocation; the address alone: freed */
  RT_SITE = 0x91,      /* record: number of a site, code addresses of its calls, the innermost first */
  RT_STACK = 0x92,     /* record: thread, start, end */
  RT_UNMAPPED = 0x93,  /* record: start, end of what is there no more */
  RT_ANONYMOUS = 0x94  /* record: start, end of memory that is mapped without a file; site of the call, 0: unknown */
};
/* Its address, which has at most 56 bits, its length in 4 bits, and what it does to the flow of control. */
#define RT_INSTRUCTION(address, length, flow) (UINT64_C(1) * ((flow) << 4 | (length)) << 56 | (address))
enum {
  RT_PLAIN = 0,
  RT_CONDITIONAL = 1, /* a conditional branch */
  RT_JUMP = 2,
  RT_CALL = 3,
  RT_RETURN = 4,
  RT_SYSTEM = 5,      /* a system call */
  RT_REPEATED = 6     /* executed as an instruction for each element, such as `rep movsb` */
};
/* Instruction of the block << 32 | guarded << 17 | store << 16 | bytes. Of RT_FLUSHED bytes: the line leaves all caches; of
 * RT_PREFETCHED, where code is reported: software asks for the line. */
enum { RT_FLUSHED = 0xffff, RT_PREFETCHED = 0xfffe };
#define RT_ACCESS(instruction, guarded, store, bytes) \
  (UINT64_C(1) * (instruction) << 32 | UINT64_C(1) * (guarded) << 17 | UINT64_C(1) * (store) << 16 | (bytes))

/* Requests that a program under the tool makes by a sequence of instructions which Valgrind knows (valgrind.h); the result
 * is 1. Without Valgrind it does nothing. */
#define RT_REQUEST_CODE(kind) ((UINT64_C(1) * 'R' << 24) | (UINT64_C(1) * 'C' << 16) | (kind))
enum {
  RT_ASK = 1,    /* does the tool execute this program? */
  RT_PAUSE = 2,  /* what the thread executes from here on is not the program's, and is not sent ... */
  RT_RESUME = 3, /* ... until here; pairs may be nested; a forked child repeats those that it is in */
  RT_SYNC = 4, /* returns when recount has accounted for the words before; thread, CPU, nanoseconds of its CPU
                  time; the result is 0 for RT_BUSY */
  RT_SAMPLED =
      5, /* events sample that these countdowns are for (bits), or have changed: every thread asks again */
  RT_TRAPS = 6,   /* from here on, a thread for which a sample is due gets SIGTRAP */
  RT_DUE = 7,     /* in the handler of SIGTRAP: whether a sample has caused it, as the result */
  RT_WATCHED = 8, /* an event counts other threads than the one that reads it: from here on, what threads have
                     executed is published before they may sleep in a system call */
  RT_CREATED = 9, /* by the tool: the thread that executes creates the thread of this number, or, 0, forks */
  RT_CLOCK =
      10 /* returns when recount has read a clock of the emulated machine: thread, clock, see RT_ELAPSED,
           a reading to which it goes forward, as everybody has waited until then (0: none) */
};
/* Clocks besides those of clock_gettime(2) below 16: */
enum {
  RT_CLOCKS = 16,
  RT_ELAPSED = 16, /* nanoseconds since the emulation began */
  RT_CYCLE_COUNTER = 17,
  RT_CPU_OF_CHILDREN = 18, /* that have ended */
  RT_CPU_OF_WAITED = 19,   /* that have ended since this was last asked for */
  RT_WAITING = 256         /* added: the reading takes no time */
};

/* For sampling at exact instructions, the tool counts down what a thread executes, and asks again (RT_SYNC) at the first
 * instruction after a countdown has reached zero. In the order of their bits: */
enum {
  RT_COUNT_INSTRUCTIONS = 0,
  RT_COUNT_LOADS = 1,       /* instructions that load or prefetch */
  RT_COUNT_STORES = 2,
  RT_COUNT_CONDITIONAL = 3, /* conditional branches */
  RT_COUNT_BRANCHES = 4,    /* all: jumps, calls and returns, too */
  RT_COUNTDOWNS = 5
};
#define RT_NEVER (INT64_C(1) << 62)
enum {
  RT_DONE = 0,
  RT_SAMPLE_DUE = 1, /* now */
  RT_BUSY = 2        /* nothing is done: another thread of the process holds what recount needs, and is to run first */
};

/* The file is locked by recount at byte RT_RECOUNT while that lives, and at byte RT_PROCESS + slot by its process (a lock
 * of fcntl(2), whose owner's PID Linux translates between PID namespaces). For a program that the process executes, the
 * file is descriptor RT_INHERITED, if that is free: another user or another /proc has no way to it by its name. */
enum { RT_RECOUNT = 0, RT_PROCESS = 1, RT_INHERITED = 1000 };

enum { RT_FREE = 0, RT_CLAIMED = 1, RT_LIVE = 2, RT_ENDED = 3 };

struct rt_header {
  uint32_t version;
  uint32_t doorbell;   /* futex: advanced by every publication */
  uint32_t listening;  /* recount waits on it */
  uint32_t closed;     /* recount takes no more */
  uint32_t next_block; /* number of the next block of any process */
  uint32_t untraced;   /* processes that found no slot, or no memory for it */
  uint32_t slots;      /* so many slots were ever used */
  uint32_t sampled;    /* countdowns that events need, by bits */
  uint32_t changes;    /* of what is sampled */
  uint32_t watched;    /* by RT_WATCHED */
  uint32_t refused_mappings; /* calls of mmap(2) that Valgrind has no room for */
  uint32_t refused_programs; /* that Valgrind does not execute: set-user-ID, set-group-ID, capabilities */
  uint32_t states[RT_SLOTS]; /* RT_FREE ... */
  uint8_t running[RT_SLOTS]; /* 1: the process executes its program; 0: it may wait in a system call */
};

/* What different cores write is in different cache lines. */
struct rt_slot { /* the tool's addresses in `position`, `limit` and `base` */
  uint64_t position;    /* where the next word goes */
  uint64_t limit;       /* end of the draft */
  uint64_t base;        /* its beginning */
  uint64_t pad0[13];   /* two lines, because pairs are fetched together */
  uint32_t pid;
  uint32_t parent;      /* slot of the process that forked this one, plus 1; 0: none */
  uint32_t parent_head; /* what that had published then */
  uint32_t parent_pid;  /* the slot may be another one's by now */
  uint32_t head;        /* chunks published */
  uint32_t waiting;     /* the tool waits on tail */
  uint32_t executing;   /* by execve(2); the new program's slot is another one */
  uint32_t pad1[25];
  uint32_t tail;        /* futex: chunks consumed */
  uint32_t answered;    /* futex: requests RT_SYNC that recount has answered */
  uint32_t answer;      /* RT_DONE ... */
  uint32_t pad2;
  int64_t left[RT_COUNTDOWNS]; /* with the answer: countdowns of the thread that has asked */
  uint64_t reading;            /* with the answer to RT_CLOCK */
  uint32_t pad3[16];
  uint32_t lengths[RT_CHUNKS]; /* words of a published chunk */
};

#endif
