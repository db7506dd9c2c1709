# The app and the collector in one image, run by a user without rights:
#   docker build -t ldp-planner .
#   docker run --rm -p 127.0.0.1:8501:8501 ldp-planner
#   docker run --rm -v "$PWD:/work" ldp-planner aggregate params.json reports --out estimates.csv
# The app asks nobody for a password: publish its port to this machine, or behind something that does.
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 planner
WORKDIR /opt/planner
COPY pyproject.toml README.md LICENSE ./
COPY planner planner
RUN pip install --no-cache-dir .

USER planner
WORKDIR /work
EXPOSE 8501
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health')"]
ENTRYPOINT ["ldp-planner"]
CMD ["app", "--no-browser", "--address", "0.0.0.0"]
