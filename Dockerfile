# `furthest serve` with its machine code inside: docs/containers.md.

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-deps --wheel-dir /wheels .
RUN python -m venv /opt/furthest \
    && /opt/furthest/bin/pip install "$(ls /wheels/furthest-*.whl)[serve,postgres]"

# Nothing, rules, or --all: what `furthest compile` is told.
ARG COMPILE=""
# For any processor of this architecture; the same must be said where the code is to be found again.
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/var/cache/furthest
# hadolint ignore=SC2086
RUN mkdir -p /var/cache/furthest \
    && /opt/furthest/bin/furthest compile ${COMPILE}

FROM python:3.11-slim
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/var/cache/furthest \
    PATH=/opt/furthest/bin:$PATH \
    FURTHEST_STORAGE=sqlite:////data/furthest.db
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin furthest \
    && install --directory --owner=10001 /data
# To where they were made: machine code is found by the place of its sources. The user owns the
# cache, since one that cannot be written to is not looked into.
COPY --from=build /opt/furthest /opt/furthest
COPY --from=build --chown=10001 /var/cache/furthest /var/cache/furthest
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=30s --timeout=5s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["furthest", "serve", "--host", "0.0.0.0", "--token-file", "/run/secrets/furthest-token"]
