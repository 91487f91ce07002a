# Two images from one file:
#   docker build --target api -t cnet-api .
#   docker build --target worker -t cnet-worker .
# The worker's PyTorch comes from TORCH_INDEX, an index of its builds for one platform, beside PyPI.
# Builds for CUDA:  --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130
ARG PYTHON=3.13
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/cnet
ENV PATH=/opt/cnet/bin:$PATH
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY cnet cnet
COPY app app
COPY worker worker

FROM build AS build-api
RUN pip install -c constraints.txt '.[server,otel]'

FROM build-api AS build-worker
ARG TORCH_INDEX
RUN pip install -c constraints.txt --extra-index-url "$TORCH_INDEX" '.[server,train,otel]'

FROM python:${PYTHON}-slim AS base
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data cnet \
    && install --directory --owner cnet --group cnet --mode 0700 /data
ENV PATH=/opt/cnet/bin:$PATH PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1 CNET_DATA_DIR=/data
WORKDIR /data
VOLUME /data
USER cnet

FROM base AS api
COPY --from=build-api /opt/cnet /opt/cnet
ENV CNET_HOST=0.0.0.0 CNET_PORT=8000
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["uvicorn", "--factory", "app.main:serve_app", "--host", "0.0.0.0", "--port", "8000", "--no-proxy-headers", \
     "--no-server-header", "--no-access-log", "--timeout-graceful-shutdown", "5"]

FROM base AS worker
COPY --from=build-worker /opt/cnet /opt/cnet
HEALTHCHECK --interval=60s --timeout=30s --start-period=60s --retries=3 \
    CMD ["sh", "-c", "celery -A worker.celery_app inspect ping --timeout 10 --destination cnet@$(hostname)"]
CMD ["celery", "-q", "-A", "worker.celery_app", "worker", "-c", "1", "-P", "prefork", "--without-gossip", \
     "--without-mingle", "--without-heartbeat", "-n", "cnet@%h"]
