# An image of PostgreSQL with rencoder.  Of the tests only .github/workflows/ci.yml builds it.
#
#   docker build --pull --build-arg PG_MAJOR=17 -t postgres-rencoder .
#
# --pull: the package archive has headers of the newest minor release, and an image that is older
# than that is refused.
# The image is Debian's variant of "postgres"; the one on Alpine has other packages.
ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR} AS build
# The headers of the very server: a library that was built with those of a later minor release may
# name functions that it does not have, and is not loaded then.
RUN apt-get update && \
    apt-get install -y --no-install-recommends \
        gcc libc6-dev make libxxhash-dev "postgresql-server-dev-${PG_MAJOR}=${PG_VERSION}"
COPY . /src
# No bitcode for JIT: expressions of queries do not call much of an index.
RUN make -C /src with_llvm=no PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config && \
    make -C /src with_llvm=no PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config \
        install DESTDIR=/installed

FROM postgres:${PG_MAJOR}
COPY --from=build /installed/ /
