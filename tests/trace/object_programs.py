"""Programs whose misses on each of their data are known: lines of 64 bytes, each accessed once by touch()."""
import pathlib
import subprocess

TOUCH = '''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void touch(void* data, long bytes) {
  for (long i = 0; i < bytes; i += 64) ((volatile char*)data)[i] = 1;
}
enum { KB = 1024 };
'''
SOURCES = {
    'variables.c': TOUCH + '''
        static double b[1 << 17];
        char c[512 * KB];
        int main(void) {
          static char inner[256 * KB];
          touch(b, sizeof b);
          touch(c + 64 * KB, 448 * KB);
          touch(inner, sizeof inner);
          return 0;
        }''',
    'other.c': TOUCH + '''
        static char own[128 * KB];
        void touch_other(void) { touch(own, sizeof own); }''',
    'twins.c': TOUCH + '''
        static char own[64 * KB];
        void touch_other(void);
        int main(void) { touch(own, sizeof own); touch_other(); return 0; }''',
    'heap.c': TOUCH + '''
        static void* wrapped(size_t bytes) {
          void* const made = malloc(bytes);
          if (!made) abort();
          return made;
        }
        static void* small(void) { return wrapped(64 * KB); }
        int main(void) {
          char* p = malloc(96 * KB);
          touch(p, 96 * KB);
          free(p);
          char* q = malloc(96 * KB);
          if (q != p) puts("not reused");
          touch(q, 96 * KB);
          char* z = calloc(1, 100 * KB); /* stored to by calloc */
          char* again = z;
          free(z);
          z = calloc(1, 100 * KB); /* from memory that has been used: zeroed */
          if (z != again) puts("not reused");
          char* one = small();
          char* two = wrapped(32 * KB);
          touch(one, 64 * KB);
          touch(two, 32 * KB);
          void* aligned = NULL;
          if (posix_memalign(&aligned, 4096, 48 * KB) != 0) return 1;
          touch(aligned, 48 * KB);
          char* grown = malloc(64);
          char* between = malloc(24);
          for (int i = 1; i <= 8; i++) grown = realloc(grown, i * 10 * KB);
          touch(grown, 80 * KB);
          char* failed = realloc(grown, ~0UL >> 1);
          if (failed) return 1;
          touch(grown, 80 * KB);
          free(between);
          free(NULL);
          for (int i = 0; i < 100; i++) {
            char* loop = aligned_alloc(64, 4 * KB);
            touch(loop, 4 * KB);
            free(loop);
          }
          return 0;
        }''',
    'stacks.c': TOUCH + '''
        #include <pthread.h>
        __attribute__((noinline)) static void* run(void* bytes) {
          char own[600 * KB];
          touch(own, (long)bytes);
          return NULL;
        }
        int main(void) {
          run((void*)(384L * KB));
          pthread_t thread;
          pthread_create(&thread, NULL, run, (void*)(512L * KB));
          pthread_join(thread, NULL);
          return 0;
        }''',
    'threads.c': TOUCH + '''
        #include <pthread.h>
        static void* run(void* ignored) {
          for (int i = 0; i < 500; i++) {
            char* small = malloc(100);
            small[0] = 1;
            free(small);
          }
          char* own = malloc(48 * KB);
          touch(own, 48 * KB);
          return own;
        }
        int main(void) {
          pthread_t threads[4];
          for (int i = 0; i < 4; i++) pthread_create(threads + i, NULL, run, NULL);
          for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
          return 0;
        }''',
    'maps.c': TOUCH + '''
        int main(int argc, char** argv) {
          const int file = open(argv[1], O_RDWR);
          char* p = mmap(NULL, 256 * KB, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 4096);
          touch(p, 256 * KB);
          munmap(p, 256 * KB);
          char* q = mmap(p, 128 * KB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
          touch(q, 128 * KB);
          return p != q;
        }''',
    'forked.c': TOUCH + '''
        static char lines[128 * KB];
        int main(void) {
          char* p = malloc(64 * KB);
          if (fork() == 0) {
            touch(lines, sizeof lines);
            touch(p, 64 * KB);
            char* own = malloc(96 * KB);
            touch(own, 96 * KB);
            _exit(0);
          }
          wait(NULL);
          touch(lines, sizeof lines);
          return 0;
        }''',
    'library_a.c': TOUCH + 'char first[128 * KB];\nvoid run(void) { touch(first, sizeof first); }',
    'library_b.c': TOUCH + 'char second[192 * KB];\nvoid run(void) { touch(second, sizeof second); }',
    'plugins.c': '''
        #include <dlfcn.h>
        int main(int argc, char** argv) {
          for (int i = 1; i < argc; i++) {
            void* const library = dlopen(argv[i], RTLD_NOW);
            ((void (*)(void))dlsym(library, "run"))();
            dlclose(library);
          }
          return 0;
        }''',
    'news.cpp': TOUCH + '''
        #include <memory>
        #include <new>
        #include <vector>
        struct alignas(256) Wide { char bytes[40 * KB]; };
        struct Own {
          char bytes[24 * KB];
          static void* operator new(std::size_t bytes) { return std::malloc(bytes); }
          static void operator delete(void* p) { std::free(p); }
        };
        int main() {
          char* const plain = new char[256 * KB];
          touch(plain, 256 * KB);
          delete[] plain;
          char* const nothrow = new (std::nothrow) char[128 * KB];
          touch(nothrow, 128 * KB);
          Wide* const wide = new Wide;
          touch(wide, sizeof *wide);
          char* const inside = new (nothrow) char[64 * KB];
          touch(inside, 64 * KB);
          std::vector<char> v(96 * KB);
          auto unique = std::make_unique<Own>();
          touch(unique.get(), sizeof *unique);
          try {
            (void)new char[~0UL >> 2];
          } catch (const std::bad_alloc&) {
          }
          char* const after = new char[16 * KB];
          touch(after, 16 * KB);
          delete[] after;
          delete wide;
          delete[] nothrow;
        }''',
}
# An allocator of the program's own, by the names of the usual one.
SOURCES['nested.c'] = TOUCH + '''
        static char pool[512 * KB];
        static long used;
        __attribute__((noipa)) void* malloc(size_t bytes) {
          void* const made = pool + used;
          used += (bytes + 4095) / 4096 * 4096;
          return made;
        }
        __attribute__((noipa)) void* calloc(size_t n, size_t bytes) { return (char*)malloc(n * bytes + 64) + 64; }
        void free(void* p) { (void)p; }
        void* realloc(void* old, size_t bytes) {
          void* const made = malloc(bytes);
          if (old) memcpy(made, old, bytes);
          free(old);
          return made;
        }
        int main(void) {
          char* const p = malloc(64 * KB);
          touch(p, 64 * KB);
          char* const q = calloc(32, KB);
          touch(q, 32 * KB);
          touch(pool + sizeof pool - 16 * KB, 16 * KB);
          return 0;
        }'''

BUILDS = {
    'variables': ['variables.c'], 'twins': ['twins.c', 'other.c'], 'heap': ['heap.c'], 'stacks': ['stacks.c', '-pthread'],
    'threads': ['threads.c', '-pthread'],
    'maps': ['maps.c'], 'forked': ['forked.c'], 'nested': ['nested.c'], 'plugins': ['plugins.c', '-ldl'],
    'library_a.so': ['library_a.c', '-shared', '-fPIC'], 'library_b.so': ['library_b.c', '-shared', '-fPIC'],
    'stripped': ['variables.c', '-s'], 'stripped_heap': ['heap.c', '-s'], 'static_heap': ['heap.c', '-static'],
    'fixed': ['variables.c', '-no-pie'], 'news': ['news.cpp', '-O0'],
}


def build(folder):
    """Compiles them; those that this system cannot link are missing."""
    folder = pathlib.Path(folder)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    for name, words in BUILDS.items():
        compiler = ['g++', '-std=c++17'] if words[0].endswith('.cpp') else ['gcc']
        done = subprocess.run([*compiler, '-O1', '-g', '-fno-builtin', '-w', '-o', name, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0 and '-static' not in words:
            raise RuntimeError(done.stderr)


def line_of(source, text):
    """The number of the only line that holds the text."""
    numbers = [number for number, line in enumerate(SOURCES[source].splitlines(), 1) if text in line]
    assert len(numbers) == 1, (text, numbers)
    return numbers[0]
