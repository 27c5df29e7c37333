# ccltune's build: one file, no recursion, everything made lies under build/<variant>/.
#
# A variant is a folder per kind of build, so that switching compilers or sanitizers rebuilds nothing:
# release, debug or the sanitizers' names, then -clang, then the MPI if it is not the default one.
# Rooms are found by wildcard: a new .c file in src/<room>/ or tests/<room>/ needs no line here.
#
## Set on the command line or in the environment:
##   DEBUG=1               unoptimised (build/debug)
##   SAN=address,undefined sanitizers (build/address-undefined)
##   CC=clang              another compiler
##   MPICC=mpicc.openmpi   another MPI; MPICC= leaves ccltune-mpi out
##   WERROR=1              warnings are errors
##   V=1                   show commands
##   prefix=/usr/local DESTDIR=   where install puts things
##

VERSION := 0.1.0

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
comma := ,
hash  := \#

# --- Tools and the variant -----------------------------------------------------------------------
ifneq (,$(filter default undefined,$(origin CC)))
CC := gcc
endif
PKG_CONFIG   ?= pkg-config
NVCC         ?= nvcc
CLANG_FORMAT ?= clang-format

# Where two MPIs are installed Debian names both; MPICH is ours unless the user says otherwise.
DEFAULT_MPICC := $(notdir $(firstword $(foreach c,mpicc.mpich mpicc,$(shell command -v $c 2>/dev/null))))
MPICC   ?= $(DEFAULT_MPICC)
# mpicc.mpich goes with mpiexec.mpich, /opt/x/bin/mpicc with /opt/x/bin/mpiexec
MPIEXEC ?= $(patsubst ./%,%,$(dir $(MPICC))$(patsubst mpicc%,mpiexec%,$(notdir $(MPICC))))

VARIANT_KIND := $(or $(subst $(comma),-,$(SAN)),$(if $(DEBUG),debug),release)
VARIANT_CC   := $(if $(findstring clang,$(notdir $(CC))),-clang)
ifneq ($(MPICC),$(DEFAULT_MPICC))
VARIANT_MPI  := -$(or $(patsubst mpicc.%,%,$(notdir $(MPICC))),nompi)
endif
VARIANT      := $(VARIANT_KIND)$(VARIANT_CC)$(VARIANT_MPI)
B            := build/$(VARIANT)

# --- Flags ---------------------------------------------------------------------------------------
# CFLAGS and LDFLAGS are the user's to replace; what the code cannot do without is added to them.
CFLAGS   ?= $(if $(SAN),-O1,$(if $(DEBUG),-O0,-O2)) -g
LDFLAGS  ?=
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wformat=2 -Wpointer-arith -Wundef -Wimplicit-fallthrough $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)

# Library headers come in as system headers: our warnings are for our code.
MODULES  := hwloc gsl yaml-0.1 jansson
as_system = $(patsubst -I%,-isystem %,$(filter -I% -D%,$1))
LIB_CPPFLAGS := $(call as_system,$(shell $(PKG_CONFIG) --cflags $(MODULES) 2>/dev/null))
LIBS         := $(shell $(PKG_CONFIG) --libs $(MODULES) 2>/dev/null) -lm -ldl

ROOMS    := $(patsubst %/,%,$(wildcard src/*/)) kernels
# uthash's own hash falls through cases, and clang warns of that where the macro is used.
CPPFLAGS_ALL = -D_GNU_SOURCE -DHASH_FUNCTION=HASH_FNV $(addprefix -I,$(ROOMS)) -I$(B)/gen \
               $(LIB_CPPFLAGS) $(CPPFLAGS)
CFLAGS_ALL   = -std=c17 $(CFLAGS) -ffp-contract=off -pthread $(WARNINGS) $(SANFLAGS)
COMPILE_FLAGS = $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -MT $@
COMPILE       = $(CC) $(COMPILE_FLAGS)
LINK_FLAGS    = $(CFLAGS_ALL) $(LDFLAGS) -o $@

# From the MPI wrapper only where things are: its own -O, -flto or -specs are not for us, and one
# compiler for all files keeps sanitizers and clang working. A wrapper that shows nothing (Cray's) does
# the work itself.
MPI_SHOW     := $(if $(MPICC),$(shell $(MPICC) -show 2>/dev/null))
MPI_CPPFLAGS := $(call as_system,$(MPI_SHOW))
MPI_LIBS     := $(filter -L% -l% -Wl$(comma)%,$(MPI_SHOW))
MPI_CC       := $(if $(MPI_LIBS),$(CC),MPICH_CC='$(CC)' OMPI_CC='$(CC)' $(MPICC))
MPI_COMPILE   = $(MPI_CC) $(COMPILE_FLAGS) $(MPI_CPPFLAGS)

# --- Files ---------------------------------------------------------------------------------------
# ccltune-mpi is ccltune and these; what asks CCLTUNE_WITH_MPI is compiled once for each program.
# Plans, and threads that run them, need no MPI.
MPI_FREE   := src/exec/lower.c src/exec/plan_dump.c src/exec/thread_run.c
MPI_SRCS   := $(filter-out $(MPI_FREE),$(wildcard src/exec/*.c)) \
              $(wildcard src/cmd/cmd_bench.c src/cmd/cmd_job.c src/cmd/job_*.c \
                         src/cmd/cmd_tune_ranks.c)
TWICE_SRCS := src/main.c $(wildcard src/cmd/commands.c)
LIB_SRCS   := $(filter-out $(MPI_SRCS) $(TWICE_SRCS),$(wildcard src/*/*.c))

KERNEL_SRCS := $(wildcard kernels/*.c)

LIB_OBJS   := $(LIB_SRCS:src/%.c=$(B)/obj/%.o) $(KERNEL_SRCS:%.c=$(B)/obj/%.o)
PLAIN_OBJS := $(TWICE_SRCS:src/%.c=$(B)/obj/%.o)
MPI_OBJS   := $(MPI_SRCS:src/%.c=$(B)/obj-mpi/%.o)
MPI_MAINS  := $(TWICE_SRCS:src/%.c=$(B)/obj-mpi/%.o)
PROGRAMS   := $(B)/ccltune $(if $(MPICC),$(B)/ccltune-mpi)

# Unit tests and properties are programs of their own; those in tests/mpi are run by its scripts.
UNIT_SRCS  := $(filter-out tests/mpi/% tests/fuzz/%,$(wildcard tests/*/test_*.c tests/*/prop_*.c))
UNITS      := $(UNIT_SRCS:%.c=$(B)/%)
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS    := $(FUZZ_NAMES:%=$(B)/tests/fuzz/replay_%)
MPI_TESTS  := $(patsubst %.c,$(B)/%,$(filter-out tests/mpi/yield.c,$(wildcard tests/mpi/*.c)))
MPI_NEEDS  := $(if $(MPICC),$(MPI_TESTS) $(B)/yield.so)
LONGS      := $(patsubst %.c,$(B)/%,$(wildcard tests/long/*.c))
SCRIPTS    := $(wildcard tests/layers.sh tests/cli/*.sh) $(if $(MPICC),$(wildcard tests/mpi/*.sh))

# --- What a user calls ---------------------------------------------------------------------------
all: $(PROGRAMS) ## build the programs
	$(if $(MPICC),,@echo "note: no MPI compiler (mpicc.mpich, mpicc or MPICC=...): ccltune-mpi is left out")

# The packages may bring the compiler and MPI, so make starts afresh after them.
again = +@$(MAKE) --no-print-directory

deps: ## install the packages that are missing (as root on Debian; else name them)
	@CC='$(CC)' sh .ci/deps.sh

demo: deps ## build, then a tour of what ccltune does
	$(again) all
	@bash tests/demo.sh $(B)

check: deps ## build and run all tests
	$(again) run-check

check-unit: deps ## only unit tests, properties and fuzz corpora
	$(again) run-check-unit

check-long: deps ## also the tests that take minutes
	$(again) run-check-long

bench: all $(MPI_NEEDS) ## measure the speed of the programs themselves
	@set -e; for script in $(wildcard tests/bench/*.sh); do $(TEST_ENV) bash $$script; done

layers: ## prove who includes whom
	@bash tests/layers.sh

cuda-check: ## compile the GPU interpreter (needs nvcc); no spill, no stack, at most 64 registers
	$(PROVE) .ci/cuda_check.sh

fuzz-%: ## fuzz one parser with libFuzzer (FUZZ_FLAGS=-max_total_time=60)
	$(again) CC=clang SAN=fuzzer-no-link,address,undefined VARIANT=fuzz build/fuzz/tests/fuzz/fuzz_$*
	@mkdir -p build/fuzz/corpus/$* tests/fuzz/corpus/$*
	build/fuzz/tests/fuzz/fuzz_$* $(FUZZ_FLAGS) build/fuzz/corpus/$* tests/fuzz/corpus/$*

format: ## put the sources into the house style
	$(CLANG_FORMAT) -i $(FORMATTED)

format-check: ## only say what clang-format would change
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

clean: ## remove build/
	rm -rf build

help: ## this text
	@sed -n 's/^## \{0,1\}//p' Makefile
	@sed -n 's/^\([a-z%-]*\):[^=]*## \(.*\)/\1|\2/p' Makefile | \
	    while IFS='|' read -r target text; do printf '  make %-13s %s\n' "$$target" "$$text"; done

# --- Install -------------------------------------------------------------------------------------
prefix  ?= /usr/local
bindir  ?= $(prefix)/bin
datadir ?= $(prefix)/share
CONFIGS  = $(shell cd configs && find . -type f | sed 's,^\./,,')

install: all ## copy programs, configs and documents to DESTDIR prefix
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(datadir)/doc/ccltune'
	install $(PROGRAMS) '$(DESTDIR)$(bindir)'
	install -m 644 LICENSE $(wildcard README.md) '$(DESTDIR)$(datadir)/doc/ccltune'
	@set -e; for f in $(CONFIGS); do install -D -m 644 configs/$$f '$(DESTDIR)$(datadir)/ccltune/'$$f; done

uninstall: ## remove what install copied
	rm -f '$(DESTDIR)$(bindir)/ccltune' '$(DESTDIR)$(bindir)/ccltune-mpi'
	rm -rf '$(DESTDIR)$(datadir)/ccltune' '$(DESTDIR)$(datadir)/doc/ccltune'

# --- Stamps and generated text -------------------------------------------------------------------
# $(call stamp,TEXT) rewrites its target only when the text differs, so what depends on the target is
# remade when flags or the list of files change, and only then.
stamp = @mkdir -p $(@D); printf '%s\n' '$1' | cmp -s - $@ || printf '%s\n' '$1' >$@

CC_VERSION := $(shell $(CC) --version 2>/dev/null | head -n 1)
GIT_COMMIT  = $(if $(wildcard .git),$(shell git rev-parse --short HEAD 2>/dev/null))

$(B)/flags: FORCE
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' sh .ci/deps.sh --check build
	$(call stamp,$(CC_VERSION) $(COMPILE) $(MPI_CPPFLAGS) $(LDFLAGS) $(LIBS) $(MPI_LIBS))

$(B)/sources: FORCE
	$(call stamp,$(LIB_SRCS) $(KERNEL_SRCS) $(TWICE_SRCS) $(MPI_SRCS))

# Asked of the header, since every MPI has another command that names it.
ask_mpi  = $(hash)include <mpi.h>\n$(hash)ifdef OPEN_MPI\n@open \
           OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION\n$(hash)else\n@mpich \
           MPICH_VERSION\n$(hash)endif\n
MPI_NAME = $(if $(MPICC),$(shell printf '$(ask_mpi)' | $(MPI_CC) $(MPI_CPPFLAGS) -E -P - 2>/dev/null | \
           sed -n 's/"//g; s/ *\. */./g; s/^@ *open */Open MPI /p; s/^@ *mpich */MPICH /p'))
version_of = $(shell $(PKG_CONFIG) --modversion $1 2>/dev/null)
macro      = echo '$(hash)define CCLTUNE_$1 "$2"';

$(B)/gen/build_info.h: FORCE
	@mkdir -p $(@D); { \
	echo '/* How this copy was built; made by the Makefile. */'; echo '$(hash)pragma once'; \
	$(call macro,VERSION,$(VERSION)$(GIT_COMMIT:%=+g%)) \
	$(call macro,CC,$(CC_VERSION)) \
	$(call macro,CFLAGS,$(strip $(CFLAGS_ALL))) \
	$(call macro,MPI_NAME,$(MPI_NAME)) \
	$(call macro,HWLOC_VERSION,$(call version_of,hwloc)) \
	$(call macro,GSL_VERSION,$(call version_of,gsl)) \
	$(call macro,YAML_VERSION,$(call version_of,yaml-0.1)) \
	$(call macro,JANSSON_VERSION,$(call version_of,jansson)) \
	} >$@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# --- Compile and link ----------------------------------------------------------------------------
run = $(if $(V),,@printf '  %-4s %s\n' $1 $@;) $2

$(B)/obj/%.o: src/%.c $(B)/flags | $(B)/gen/build_info.h
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) -DCCLTUNE_WITH_MPI=0 -c -o $@ $<)

# Data loops are written to be vectorised, which takes more than -O2.
$(B)/obj/kernels/%.o: kernels/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) $(if $(SAN)$(DEBUG),,-O3) -c -o $@ $<)

$(B)/obj-mpi/%.o: src/%.c $(B)/flags | $(B)/gen/build_info.h
	@mkdir -p $(@D)
	$(call run,CC,$(MPI_COMPILE) -DCCLTUNE_WITH_MPI=1 -c -o $@ $<)

$(B)/libccltune.a: $(LIB_OBJS) $(B)/sources
	@rm -f $@
	$(call run,AR,$(AR) rcs $@ $(LIB_OBJS))

$(B)/ccltune: $(PLAIN_OBJS) $(B)/libccltune.a
	$(call run,LD,$(CC) $(LINK_FLAGS) $^ $(LIBS))

$(B)/ccltune-mpi: $(MPI_MAINS) $(MPI_OBJS) $(B)/libccltune.a
	$(call run,LD,$(MPI_CC) $(LINK_FLAGS) $^ $(LIBS) $(MPI_LIBS))

# --- Tests ---------------------------------------------------------------------------------------
CMOCKA_FLAGS := $(call as_system,$(shell $(PKG_CONFIG) --cflags cmocka 2>/dev/null))
CMOCKA_LIBS  := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
TEST_COMPILE  = $(COMPILE) -Itests $(CMOCKA_FLAGS) $(LDFLAGS) -o $@
TEST_LIBS     = $(B)/libccltune.a $(CMOCKA_LIBS) $(LIBS)
# Open MPI refuses root and more ranks than cores unless told, ASan a preload before its runtime.
TEST_ENV = LC_ALL=C TZ=UTC CMOCKA_MESSAGE_OUTPUT=TAP CCLTUNE='$(CURDIR)/$(B)/ccltune' \
           BUILD='$(CURDIR)/$(B)' MPIEXEC='$(MPIEXEC)' NVCC='$(NVCC)' OMPI_ALLOW_RUN_AS_ROOT=1 \
           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
           $(if $(SAN),ASAN_OPTIONS=verify_asan_link_order=0:$(ASAN_OPTIONS))
PROVE    = @$(TEST_ENV) perl tests/prove.pl
FORMATTED = $(wildcard src/*.c src/*/*.[ch] kernels/*.[ch] tests/*.[ch] tests/*/*.[ch])

$(B)/tests/%: tests/%.c $(B)/libccltune.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(TEST_COMPILE) $< $(TEST_LIBS))

$(B)/tests/mpi/%: tests/mpi/%.c $(MPI_OBJS) $(B)/libccltune.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(MPI_COMPILE) -Itests $(LDFLAGS) -o $@ $< $(MPI_OBJS) \
	    $(B)/libccltune.a $(LIBS) $(MPI_LIBS))

$(B)/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(B)/libccltune.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(TEST_COMPILE) $< tests/fuzz/replay.c $(TEST_LIBS))

$(B)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/libccltune.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(TEST_COMPILE) -fsanitize=fuzzer $< $(TEST_LIBS))

# Preloaded into MPICH where ranks outnumber cores; never sanitized, since it comes before their runtime.
$(B)/yield.so: tests/mpi/yield.c $(B)/flags
	$(call run,LD,$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -shared -o $@ $< -ldl)

units: $(UNITS) $(REPLAYS) ## build unit tests and replays, without running them

run-check: all $(UNITS) $(REPLAYS) $(MPI_NEEDS)
	$(PROVE) $(UNITS) $(REPLAYS) $(SCRIPTS)

run-check-unit: $(UNITS) $(REPLAYS)
	$(PROVE) $(UNITS) $(REPLAYS)

run-check-long: all $(UNITS) $(REPLAYS) $(MPI_NEEDS) $(LONGS)
	$(PROVE) --limit=3600 $(UNITS) $(REPLAYS) $(SCRIPTS) $(LONGS) $(wildcard tests/long/*.sh)

.PHONY: all deps demo check check-unit check-long bench layers cuda-check format format-check clean help install \
        uninstall units run-check run-check-unit run-check-long FORCE
FORCE:

-include $(addsuffix .d,$(LIB_OBJS) $(PLAIN_OBJS) $(MPI_OBJS) $(MPI_MAINS))
-include $(addsuffix .d,$(UNITS) $(MPI_TESTS) $(LONGS))
