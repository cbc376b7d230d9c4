# A thin front of meson, for people who just type make. `make help` lists what there is.

BUILD ?= build
# Several files of a room in one unit, and no debug information: a third of the time to build. Who edits often
# is better off without: MESON_FLAGS=.
# Not 16: Meson 1.0 looks for one unit too many where the sources of a library that is linked whole are a multiple of it.
MESON_FLAGS ?= -Ddebug=false -Dunity=on -Dunity_size=15

# What Debian calls the things that recount is made of; README.md says what each is for.
DEPS = g++ binutils meson ninja-build pkg-config libfmt-dev nlohmann-json3-dev librange-v3-dev libcli11-dev \
       libpapi-dev libpfm4-dev libhwloc-dev libdw-dev libiberty-dev libcapstone-dev libboost-dev libboost-iostreams-dev \
       libboost-filesystem-dev libboost-system-dev libboost-test-dev libgnuplot-iostream-dev gnuplot-nox fonts-liberation fontconfig
# What only the tests take.
TEST_DEPS = libzydis-dev
# What only the checks of `make lint`, `make format-check` and tests/fuzz/run take.
CI_DEPS = $(TEST_DEPS) $(if $(filter x86_64,$(shell uname -m)),g++-aarch64-linux-gnu qemu-user) clang clang-format libclang-rt-14-dev mandoc debootstrap

RECOUNT = $(BUILD)/src/cli/recount
# What the emulated arm64 machine takes: fetched packages, a cross build.
GUEST ?= build-guest

.PHONY: all configure help deps test-deps print-test-deps ci-deps demo test test-guest bench install lint format format-check clean

# The program, and the library that `make install` installs beside it.
all: configure
	ninja -C $(BUILD) src/cli/recount src/library/librecount.a

help:
	@echo 'make            build the program and the library'
	@echo 'make demo       install what is missing, build, measure this machine, draw it (into demo/)'
	@echo 'make test       install what is missing, build, run every test'
	@echo 'make test-guest run recount on an emulated arm64 machine with a PMU, against exact counts (Debian)'
	@echo 'make bench      compare the cost of counting by perf_event and by PAPI, and of a sweep; time the model, hold it against published counts; about half an hour'
	@echo 'make install    install the program, its pages and its data (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make deps       install what is missing with apt-get; elsewhere print the names'
	@echo 'make lint       check the manual pages; make format-check: the formatting; make format mends it'
	@echo 'make clean      remove $(BUILD)/, $(GUEST)/ and demo/'

deps:
	@sh scripts/deps $(DEPS)

test-deps:
	@sh scripts/deps $(DEPS) $(TEST_DEPS)

print-test-deps:
	@echo $(DEPS) $(TEST_DEPS)

ci-deps:
	@sh scripts/deps $(DEPS) $(CI_DEPS)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo 'meson is missing: run `make deps` first' >&2; exit 1; }
	meson setup $(BUILD) $(if $(PREFIX),--prefix $(PREFIX)) $(MESON_FLAGS)

# meson takes the PREFIX of the first time; another one is given to it here.
configure: $(BUILD)/build.ninja
ifdef PREFIX
	@grep -qF '"name": "prefix", "value": "$(PREFIX)"' $(BUILD)/meson-info/intro-buildoptions.json || \
	  meson configure $(BUILD) --prefix '$(PREFIX)'
endif

# The three that a fresh machine may start with install first; `make` alone never asks for a password.
demo: deps
	@$(MAKE) --no-print-directory all
	@sh scripts/demo $(RECOUNT) demo

test: test-deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson test -C $(BUILD) --print-errorlogs $(TEST_FLAGS); \
	  python3 tests/summary.py $(BUILD)/meson-logs/testlog.json

# Installs what is missing by itself.
test-guest:
	@sh tests/guest/run $(GUEST)

bench: deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson test -C $(BUILD) --benchmark --verbose

install: all
	meson install -C $(BUILD) --no-rebuild

lint:
	mandoc -T lint -W warning man/*.[1-9]

SOURCES = $(shell git ls-files '*.cpp' '*.hpp')

format-check:
	clang-format --dry-run -Werror $(SOURCES)

format:
	clang-format -i $(SOURCES)

clean:
	rm -rf $(BUILD) $(GUEST) demo
