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

FILTER_OBJS = \
	src/filter/renc_dict.o \
	src/filter/renc_hash.o \
	src/filter/renc_model.o \
	src/filter/renc_model_fill.o \
	src/filter/renc_model_bins.o \
	src/filter/renc_model_pairs.o \
	src/filter/renc_model_plan.o \
	src/filter/renc_program.o \
	src/filter/renc_rule.o \
	src/filter/renc_search.o \
	src/filter/renc_search_boxes.o \
	src/filter/renc_search_group.o \
	src/filter/renc_search_sample.o \
	src/filter/renc_shape.o \
	src/filter/renc_strings.o \
	src/filter/renc_window.o \
	src/filter/renc_zorder.o

RUN_OBJS = \
	src/run/renc_run_block.o \
	src/run/renc_run_build.o \
	src/run/renc_run_check.o \
	src/run/renc_run_encode.o \
	src/run/renc_run_page.o \
	src/run/renc_run_plan.o \
	src/run/renc_run_rank.o \
	src/run/renc_run_search.o

OBJS = $(FILTER_OBJS) $(RUN_OBJS) \
	src/autosummarize.o \
	src/bitmap.o \
	src/bounds.o \
	src/boxes.o \
	src/build.o \
	src/check.o \
	src/check_blocks.o \
	src/check_heap.o \
	src/coder.o \
	src/collect.o \
	src/cost.o \
	src/costheap.o \
	src/costindex.o \
	src/costlook.o \
	src/desummarize.o \
	src/directory.o \
	src/encode.o \
	src/encode_geometry.o \
	src/encode_net.o \
	src/encode_number.o \
	src/encode_point.o \
	src/encode_text.o \
	src/format.o \
	src/format_dict.o \
	src/format_filter.o \
	src/group.o \
	src/groupbuild.o \
	src/groupcopy.o \
	src/handler.o \
	src/heapread.o \
	src/horizon.o \
	src/insert.o \
	src/inspect.o \
	src/interleave.o \
	src/intervals.o \
	src/key.o \
	src/maintenance.o \
	src/meta.o \
	src/options.o \
	src/page.o \
	src/parallelbuild.o \
	src/plan.o \
	src/planshare.o \
	src/probe.o \
	src/rangescan.o \
	src/rebuild.o \
	src/request.o \
	src/retune.o \
	src/samplefuncs.o \
	src/samplekeep.o \
	src/samples.o \
	src/sampletable.o \
	src/sampling.o \
	src/scan.o \
	src/space.o \
	src/subtransaction.o \
	src/summarize.o \
	src/summarize_steps.o \
	src/summarize_whole.o \
	src/target.o \
	src/train.o \
	src/trainer.o \
	src/vacuum.o \
	src/validate.o \
	src/wal.o \
	src/worker.o

OPTFLAGS =
WARNFLAGS =
PG_CPPFLAGS = -I$(srcdir)/src -I$(srcdir)/src/filter -I$(srcdir)/src/run
PG_CFLAGS = $(OPTFLAGS) $(WARNFLAGS)

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

.PHONY: all install installcheck clean check-unit dist

# Plain C programs of the filter core and the run core; no PostgreSQL is needed.
check-unit:
	$(MAKE) -C '$(srcdir)/test/unit' check

dist:
	@git -C '$(srcdir)' rev-parse --verify -q HEAD > /dev/null || \
		{ echo "make dist: needs git, and a checkout" >&2; exit 1; }
	git -C '$(srcdir)' archive --format zip --prefix=rencoder-$(EXTVERSION)/ \
		--output '$(CURDIR)/rencoder-$(EXTVERSION).zip' HEAD
