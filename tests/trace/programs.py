"""The traced programs of the tests, in C: each is compiled by gcc -O2, without changes for the model."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {
    # The product of doubles of the laboratory; with a second argument, only the matrices are made.
    'product': '''
        #include <stdio.h>
        #include <stdlib.h>
        int main(int argc, char** argv) {
          const int n = atoi(argv[1]);
          double *a = malloc(8L * n * n), *b = malloc(8L * n * n), *c = malloc(8L * n * n);
          for (int i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 5; c[i] = 0; }
          for (int i = 0; i < n && argc < 3; i++)
            for (int j = 0; j < n; j++) {
              double sum = 0;
              for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
              c[i * n + j] = sum;
            }
          printf("%g\\n", c[n * n - 1]);
          return 0;
        }''',
    # Lines of 4 MiB, by as many processes as the argument says.
    'fork': '''
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static char lines[1 << 22];
        int main(int argc, char** argv) {
          const int n = atoi(argv[1]);
          int status, sum = 0;
          for (int k = 0; k < n; k++)
            if (fork() == 0) {
              for (int i = 0; i < 1 << 22; i += 64) ((volatile char*)lines)[i] = 1;
              _exit(k);
            }
          while (wait(&status) > 0) sum += WEXITSTATUS(status);
          printf("%d\\n", sum);
          return 3;
        }''',
    # The same by threads, each its own lines.
    'thread': '''
        #include <pthread.h>
        #include <stdio.h>
        static char lines[4][1 << 20];
        static void* run(void* own) {
          for (int i = 0; i < 1 << 20; i += 64) ((volatile char*)own)[i] = 1;
          return 0;
        }
        int main(void) {
          pthread_t threads[4];
          for (int i = 0; i < 4; i++) pthread_create(threads + i, 0, run, lines[i]);
          for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
          puts("joined");
          return 0;
        }''',
    # Two threads in turn, each 100 times 256 lines: the same ones, or each its own.
    'turns': '''
        #include <pthread.h>
        #include <semaphore.h>
        enum { LINES = 256, TURNS = 100 };
        static char lines[2][64 * LINES] __attribute__((aligned(64)));
        static sem_t free_for[2];
        static int apart;
        static void* run(void* number) {
          const long own = (long)number;
          for (int turn = 0; turn < TURNS; turn++) {
            sem_wait(free_for + own);
            for (int i = 0; i < 64 * LINES; i += 64) ((volatile char*)lines[apart ? own : 0])[i + own] = 1;
            sem_post(free_for + 1 - own);
          }
          return 0;
        }
        int main(int argc, char** argv) {
          (void)argv;
          apart = argc > 1;
          pthread_t threads[2];
          sem_init(free_for, 0, 1);
          sem_init(free_for + 1, 0, 0);
          for (long i = 0; i < 2; i++) pthread_create(threads + i, 0, run, (void*)i);
          for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
          return 0;
        }''',
    'crash': '''
        static char lines[1 << 20];
        int main(void) {
          for (int i = 0; i < 1 << 20; i += 64) ((volatile char*)lines)[i] = 1;
          return *(volatile int*)8;
        }''',
    # Stores without end, beginning when it says so.
    'spin': '''
        #include <stdio.h>
        static char lines[1 << 22];
        int main(void) {
          puts("spinning");
          fflush(stdout);
          for (unsigned i = 0;; i += 64) ((volatile char*)lines)[i % sizeof lines] = 1;
        }''',
    # With arguments, an instruction that Valgrind lacks is executed and handled; without, a branch leaves it out. Both fail.
    'probe': '''
        #include <setjmp.h>
        #include <signal.h>
        static sigjmp_buf back;
        static void handler(int number) { (void)number; siglongjmp(back, 1); }
        int main(int argc, char** argv) {
          (void)argv;
          if (argc > 1) {
            signal(SIGILL, handler);
            if (!sigsetjmp(back, 1)) __asm__ volatile("vpaddq %zmm0, %zmm1, %zmm2");
          }
          if (argc > 5) __asm__ volatile("vpaddq %zmm0, %zmm1, %zmm2");
          return 1;
        }''',
    # Writes from nowhere to the descriptor of the section's messages.
    'pointer': '''
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {
          const void* volatile nowhere = (void*)8;
          return write(atoi(getenv("RECOUNT_SECTIONS_FD")), nowhere, 16) == 1;
        }''',
    # A mapping that needs no memory.
    'large': '''
        #include <sys/mman.h>
        int main(void) {
          return mmap(0, 1L << 42, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED;
        }''',
    # Overwrites the number of published chunks of its own slot: another file of the program is not touched.
    'corrupt': '''
        #include <stdint.h>
        #include <stdio.h>
        #include <string.h>
        #include "protocol.h"
        static char lines[1 << 20];
        int main(void) {
          char line[512];
          unsigned long start, end, offset;
          FILE* maps = fopen("/proc/self/maps", "r");
          while (fgets(line, sizeof line, maps))
            if (strstr(line, "memfd:recount-trace") && sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
                end - start == RT_SLOT_BYTES)
              ((volatile struct rt_slot*)start)->head += 1000000;
          for (int round = 0; round < 100; round++)
            for (int i = 0; i < 1 << 20; i++) ((volatile char*)lines)[i] = 1;
          return 0;
        }''',
    'avx512': '''
        int main(void) { __asm__ volatile("vpaddq %zmm0, %zmm1, %zmm2"); return 0; }''',
    # Lines of 1 MiB within a section, and others before, between and after two such.
    'section': '''
        #include <recount/sections.h>
        static char lines[1 << 20], others[1 << 20];
        static void store(char* all) {
          for (int i = 0; i < 1 << 20; i += 64) ((volatile char*)all)[i] = 1;
        }
        int main(void) {
          store(others);
          for (int i = 0; i < 2; i++) {
            recount_section_begin("work");
            store(lines);
            recount_section_end("work");
            recount_section_begin("other");
            store(others);
            recount_section_end("other");
          }
          return 0;
        }''',
    # Functions that each store to lines of their own: work() two times 1024, of which once below three recursions;
    # jump() leaves by longjmp(3) after 256; never() is not called; between first() and second(), 512.
    'functions': '''
        #include <setjmp.h>
        static char lines[8][1 << 16];
        static jmp_buf out;
        static void store(int which, int count) {
          for (int i = 0; i < count; i++) ((volatile char*)lines[which])[i * 64] = 1;
        }
        __attribute__((noinline)) void work(int depth) {
          if (depth > 0) work(depth - 1);
          else store(0, 1024);
          __asm__ volatile("");
        }
        __attribute__((noinline)) void jump(void) {
          store(1, 256);
          longjmp(out, 1);
        }
        __attribute__((noinline)) void never(void) { store(2, 1024); }
        __attribute__((noinline)) void first(void) { store(3, 64); }
        __attribute__((noinline)) void second(void) { store(4, 64); }
        __attribute__((noinline)) void last(void) { work(0); }
        int main(int argc, char** argv) {
          store(5, 1024);
          work(0);
          store(5, 1024);
          work(3);
          store(6, 1024);
          if (setjmp(out) == 0) jump();
          store(7, 1024);
          for (int i = 0; i < 2; i++) {
            first();
            store(5, 512);
            second();
            store(6, 1024);
          }
          if (argc > 1) never();
          last();
          store(7, 1024);
          return 0;
        }''',
    # A file, mapped and read.
    'map': '''
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        int main(int argc, char** argv) {
          const long bytes = 1 << 20;
          volatile char* p = mmap(0, bytes, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
          long sum = 0;
          for (long i = 0; i < bytes; i += 64) sum += p[i];
          printf("%ld\\n", sum);
          return 0;
        }''',
    # 1000 times, if told so: a compare-and-swap, and a store of 32 bytes over a line end.
    'kinds': '''
        #include <immintrin.h>
        static char lines[1 << 16] __attribute__((aligned(64)));
        __attribute__((target("avx2"))) int main(int argc, char** argv) {
          volatile int* const word = (int*)(lines + 4096);
          const int all = argv[1][0] == '1';
          for (int i = 0; all && i < 1000; i++) {
            int expected = i;
            __atomic_compare_exchange_n(word, &expected, i + 1, 0, 5, 5);
            _mm256_storeu_si256((__m256i*)(lines + 48), _mm256_set1_epi8((char)i));
          }
          return 0;
        }''',
    # One line of each of 2000 pages, ten times; the lines are spread over all sets.
    # Parts of vector registers, loaded and zeroed in ways that leave the rest as it is, or not.
    'scalars': '''
        #include <stdio.h>
        static void show(const char* what, const unsigned long* out) { printf("%s %016lx %016lx\\n", what, out[1], out[0]); }
        int main(void) {
          static double x = 1.5, y = -2.25;
          static float s = 3.125f;
          static unsigned long out[2], zeros[2], no = 0;
        #if defined(__x86_64__)
        #define DO(code) \
          __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\\n" code "\\nmovups %%xmm0, %0" \
                           : "=m"(out), "=m"(zeros) : "m"(x), "m"(y), "m"(s), "m"(no) : "xmm0", "rax", "cc"); \
          show(#code, out); \
          show("zeros", zeros)
          DO("movsd %2, %%xmm0");
          DO("movss %4, %%xmm0");
          DO("movsd %2, %%xmm0\\nmovhpd %3, %%xmm0");
          DO("pxor %%xmm0, %%xmm0\\nmovhpd %3, %%xmm0");
          DO("pxor %%xmm0, %%xmm0\\nmovups %%xmm0, %1\\nmovlpd %2, %%xmm0");
          DO("pxor %%xmm0, %%xmm0\\ncmpq $0, %5\\nje 1f\\nmovlpd %2, %%xmm0\\n1:");
          DO("movsd %2, %%xmm0\\nmovsd %3, %%xmm0\\naddsd %2, %%xmm0");
          DO("movq %2, %%xmm0\\nmovd %4, %%xmm0");
          DO("movsd %2, %%xmm0\\nmovss %4, %%xmm0");
        #endif
          volatile double sum = 0;
          volatile float less = 0;
          for (int i = 0; i < 1000; i++) { sum += x * i; less -= s / (i + 1); }
          printf("%.17g %.9g\\n", sum, less);
          return 0;
        }''',
    'pages': '''
        static char pages[2000][4096] __attribute__((aligned(1 << 21)));
        int main(void) {
          for (int i = 0; i < 10; i++)
            for (int page = 0; page < 2000; page++) ((volatile char*)pages[page])[page % 64 * 64] = 1;
          return 0;
        }''',
    'transpose': (pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'transpose.c').read_text(),
}


def build(folder, *names, flags=()):
    """Compiles programs into the folder."""
    for name in names:
        source = pathlib.Path(folder) / f'{name}.c'
        source.write_text(SOURCES[name])
        subprocess.run(['gcc', '-O2', '-g', '-pthread', '-I', ROOT / 'include', '-I', ROOT / 'src/model/trace', *flags, '-o', source.with_suffix(''), source], check=True)


def skip_untraceable(recount):
    """Exits with 77 where no program can be compiled or traced."""
    if not shutil.which('gcc'):
        print('no gcc')
        sys.exit(77)
    probe = subprocess.run([recount, 'stat', '--witness', 'model:i7-9700', '--', 'true'], capture_output=True, text=True)
    if probe.returncode == 125:
        print(probe.stderr)
        sys.exit(77)
