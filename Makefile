# rencoder: PostgreSQL index access method.  Build with PGXS:
#   make && make install            (PG_CONFIG=... selects another server)
#   make OPTFLAGS=-march=native     (opt-in; the default build is portable)
# Also out of the tree: make -f ../Makefile in an empty directory beside it.
# PGXS sets $(srcdir), so what is named by it must be expanded late.

# rencoder_postgis is for those who have PostGIS; nothing of it is needed here.
EXTENSION = rencoder rencoder_postgis
# The version stands in rencoder.control only.
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" '$(srcdir)/rencoder.control')
MODULE_big = rencoder
# files DIRECTORY, PATTERN...: by their paths below $(srcdir).
files = $(patsubst $(srcdir)/%,%,$(wildcard $(addprefix $(srcdir)/$(1)/,$(2))))
DATA = $(call files,sql,rencoder--*.sql rencoder_postgis--*.sql)

# Every file of src/ and its folders, which test/check_layers.sh lists.
OBJS = $(patsubst %.c,%.o,$(call files,src,*.c */*.c))

OPTFLAGS =
WARNFLAGS =
PG_CPPFLAGS = -I$(srcdir)/src
# Which of two codings is shorter must not hang on whether the CPU can multiply and add at once.
PG_CFLAGS = $(OPTFLAGS) $(WARNFLAGS) -ffp-contract=off

# Inputs of pg_regress are sql/*.sql other than the install scripts.
REGRESS = $(sort $(filter-out rencoder--% rencoder_postgis--%,$(basename $(notdir $(call files,sql,*.sql)))))
REGRESS_OPTS = --load-extension=rencoder
ISOLATION = $(sort $(basename $(notdir $(call files,test/specs,*.spec))))
ISOLATION_OPTS = --load-extension=rencoder --inputdir=$(srcdir)/test --outputdir=test
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
PROVE_FLAGS = -I test/perl

# All tests draw their random numbers from it.
RENCODER_SEED ?= 1
export RENCODER_SEED

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
else
srcdir = $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
all install installcheck clean:
	@echo "no PGXS of $(PG_CONFIG): install PostgreSQL's server development package" >&2; exit 1
endif

# Where objects go, in a build out of the tree, and what isolation tests write.
$(shell mkdir -p $(sort $(dir $(OBJS))) test)

.PHONY: all install installcheck clean check-unit check-quick lint dist help publish-as

help:
	@echo 'make                build; OPTFLAGS=-march=native: for this CPU only'
	@echo 'make install        into the server of PG_CONFIG (as root, mostly)'
	@echo 'make installcheck TAP_TESTS=   regression and isolation tests, on a server that runs'
	@echo 'make check-unit     tests of the filter and run cores; no PostgreSQL needed'
	@echo 'make check-quick    layers, unit, regress, isolation, on a server of its own: minutes'
	@echo 'make lint           structure, texts, releases, indentation: a minute, no server'
	@echo 'make dist           a zip of what is committed, without the data of bench/'
	@echo 'make publish-as URL=.. EMAIL=..   fills in where the project lives'
	@echo 'bash bench/demo.sh  what it does; bash test/run.sh: all tests; test/sandbox.sh: psql'

# Plain C programs of the filter core and the run core; no PostgreSQL is needed.
check-unit:
	$(MAKE) -C '$(srcdir)/test/unit' check

check-quick:
	bash '$(srcdir)/test/run.sh' --quick

lint:
	bash '$(srcdir)/test/check_layers.sh'
	bash '$(srcdir)/test/check_tests.sh'
	perl '$(srcdir)/test/check_texts.pl'
	perl '$(srcdir)/test/check_figures.pl'
	perl '$(srcdir)/test/check_release.pl' '$(srcdir)'
	bash '$(srcdir)/test/check_indent.sh' '$(PG_CONFIG)'

# What is not needed to build and test stays out: .gitattributes names it.
dist:
	@git -C '$(srcdir)' rev-parse --verify -q HEAD > /dev/null || \
		{ echo "make dist: needs git, and a checkout" >&2; exit 1; }
	git -C '$(srcdir)' archive --format zip --prefix=rencoder-$(EXTVERSION)/ \
		--output '$(CURDIR)/rencoder-$(EXTVERSION).zip' HEAD

# The files that name the repository, the bug tracker and the maintainer's address.
publish-as:
	@[ -n '$(URL)' ] && [ -n '$(EMAIL)' ] || \
		{ echo "make publish-as: needs URL=.. and EMAIL=.." >&2; exit 1; }
	cd '$(srcdir)' && sed -i -e 's|https://example\.org/rencoder|$(URL)|g' -e 's| *# a placeholder.*||' \
		-e 's|rencoder@example\.org|$(EMAIL)|g' README.md META.json debian/control debian/control.in
