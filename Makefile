# A front end of meson. `make help` lists the targets.

BUILD ?= build
# Unity build without debug information: a third of the build time, 2 GB of memory per job. For incremental builds, set MESON_FLAGS=.
# Meson 1.0 expects one unit too many if the sources of a library linked whole are a multiple of the unit size.
MESON_FLAGS ?= -Ddebug=false -Dunity=on -Dunity_size=12

# Debian packages of the dependencies; CONTRIBUTING.md gives the purpose of each.
DEPS = g++ binutils meson ninja-build pkg-config libfmt-dev nlohmann-json3-dev librange-v3-dev libcli11-dev \
       libpapi-dev libpfm4-dev libhwloc-dev libdw-dev zlib1g-dev libiberty-dev libcapstone-dev libboost-dev libboost-iostreams-dev \
       libboost-filesystem-dev libboost-system-dev libboost-test-dev libgnuplot-iostream-dev gnuplot-nox fonts-liberation fontconfig valgrind
# Needed by the tests only; perf(1) has other packages elsewhere.
TEST_DEPS = libzydis-dev poppler-utils abigail-tools strace papi-tools sqlite3 $(shell grep -qsx ID=debian /etc/os-release && echo linux-perf)
# Needed by tests that are skipped without, `make lint`, `make format-check` and tests/fuzz/run only.
CI_DEPS = $(TEST_DEPS) zsh fish $(if $(filter x86_64,$(shell uname -m)),g++-aarch64-linux-gnu qemu-user) ccache clang clang-format clang-tidy-16 libclang-rt-14-dev mandoc debootstrap

# Needed by `make deb` only; no debug information, which would go into packages of its own.
DEB_DEPS = debhelper lintian
DEB_CXXFLAGS_STRIP ?= -g
DEB_BUILD_OPTIONS ?= noautodbgsym

RECOUNT = $(BUILD)/src/recount
# The Valgrind tool, where valgrind is installed, and what recount emulate needs, where it is built.
HELPERS = $(shell ninja -C $(BUILD) -t targets all 2>/dev/null | \
  sed -nE 's,^(src/model/trace/recount-trace-[a-z0-9]*-linux|src/model/emulate/librecount-emulate\.so):.*,\1,p')
# The emulated arm64 machine: downloaded packages, a cross build.
GUEST ?= build-guest

.PHONY: all configure help deps test-deps print-test-deps ci-deps demo test test-guest test-slurm bench install deb test-deb count lint format format-check clean

# The program, and the library that `make install` installs beside it.
all: configure
	ninja -C $(BUILD) src/recount src/count/library/librecount.so.2 src/count/library/librecount-papi.so.1 $(HELPERS)

help:
	@echo 'make            build the program and the library'
	@echo 'make demo       install dependencies, build, measure this machine, draw figures (into demo/)'
	@echo 'make test       install dependencies, build, run the tests (.ci/run: all of them)'
	@echo 'make test-guest test exact counts on an emulated arm64 machine with a PMU (Debian)'
	@echo 'make test-slurm test job scripts under a Slurm of four nodes on this machine (Debian, root)'
	@echo 'make bench      benchmark perf_event, PAPI, sweeps and the model, and compare the model with published counts (about half an hour)'
	@echo 'make install    install the program, manual pages and data (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make deb        build Debian packages into build-deb/ (DEB_BUILD_OPTIONS="nocheck noautodbgsym": without tests); make test-deb: try them'
	@echo 'make deps       install dependencies with apt-get; without apt-get, print their names'
	@echo 'make lint       check sources and manual pages; make format-check: check formatting; make format: fix it'
	@echo 'make count      files and lines of src, include and tests'
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

# meson keeps the PREFIX of its first run; a changed one is passed here.
configure: $(BUILD)/build.ninja
ifdef PREFIX
	@grep -qF '"name": "prefix", "value": "$(PREFIX)"' $(BUILD)/meson-info/intro-buildoptions.json || \
	  meson configure $(BUILD) --prefix '$(PREFIX)'
endif

# These three targets install dependencies first; plain `make` never asks for a password.
demo: deps
	@$(MAKE) --no-print-directory all
	@sh scripts/demo $(RECOUNT) demo

test: test-deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@# A build that was configured before test-deps looks for what it lacked.
	@grep -q HAVE_ZYDIS $(BUILD)/build.ninja || meson setup --reconfigure $(BUILD)
	@# One test more than CPUs: some wait for shells, terminals and timers.
	@meson test -C $(BUILD) --no-suite more --print-errorlogs --num-processes $$(($$(nproc) + 1)) $(TEST_FLAGS); \
	  python3 tests/summary.py $(BUILD)/meson-logs/testlog.json

# Installs missing dependencies itself.
test-guest:
	@sh tests/guest/run $(GUEST)

# Installs Slurm itself; exit 77 from the script is a skip.
test-slurm:
	@$(MAKE) --no-print-directory all
	@python3 tests/slurm/run.py $(RECOUNT) || [ $$? = 77 ]

bench: deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson test -C $(BUILD) --benchmark --verbose

install: all
	meson install -C $(BUILD) --no-rebuild
	@# The new shared library is found by programs from now on.
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

# With empty DEB_CXXFLAGS_STRIP and DEB_BUILD_OPTIONS as Debian builds them, which makes packages of debug information.
deb:
	@sh scripts/deps $(DEPS) $(DEB_DEPS)
	@mkdir -p build-deb
	DEB_BUILD_OPTIONS='$(DEB_BUILD_OPTIONS)' DEB_CXXFLAGS_STRIP='$(DEB_CXXFLAGS_STRIP)' PACKAGES='$(CURDIR)/build-deb' \
	  dpkg-buildpackage -us -uc -b --buildinfo-option=-u'$(CURDIR)/build-deb' --changes-option=-u'$(CURDIR)/build-deb' \
	  --buildinfo-file='$(CURDIR)/build-deb/recount.buildinfo' --changes-file='$(CURDIR)/build-deb/recount.changes'
	lintian --fail-on error build-deb/recount.changes

# On a bare Debian that debootstrap makes: needs root and the network.
test-deb: deb
	@tests/deb/run build-deb

# Files and lines, all of them counted, of what is maintained by hand: code, build files, tables of cases.
count:
	@for part in 'src include' tests; do \
	  git ls-files $$part | grep -E '\.(cpp|hpp|h|c|S|py|sh|table)$$|/(run|meson\.build)$$' | tr '\n' '\0' | \
	    wc -l --files0-from=- | awk -v part="$$part" 'END { print part ": " NR - 1 " files, " $$1 " lines" }'; \
	done

lint:
	mandoc -T lint -W warning man/*.[1-9]
	@if command -v groff >/dev/null; then ! groff -mandoc -Tutf8 -ww man/*.[1-9] 2>&1 >/dev/null | grep .; fi

SOURCES = $(shell git ls-files '*.cpp' '*.hpp')

format-check:
	@clang-format --dry-run -Werror $(SOURCES)

format:
	clang-format -i $(SOURCES)

clean:
	rm -rf $(BUILD) $(GUEST) demo build-deb
