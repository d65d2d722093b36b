# kbert in a container, for CPUs: docker build -t kbert . (docs/deploy.md says where it was built).
FROM python:3.12-slim

# The packages first: they stay in a layer of their own while the source changes. Compiled, as pip does and uv does
# not: else each new container compiles TensorFlow and Keras as it imports them, which takes a core 10 s.
COPY requirements.lock /source/
RUN pip install --no-cache-dir uv==0.13.8 \
 && uv pip install --system --no-cache --compile-bytecode --require-hashes -r /source/requirements.lock

COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE /source/
COPY configs /source/configs
COPY export /source/export
COPY kbert /source/kbert
COPY tfrecords_tools /source/tfrecords_tools
RUN pip install --no-cache-dir --no-deps --no-build-isolation /source

# Runs, data and exports lie in the folder that is mounted here.
WORKDIR /work
# gRPC, REST, REST where the model is the one of /opt/ml/model (SageMaker).
EXPOSE 8500 8501 8080
ENTRYPOINT ["kbert"]
CMD ["--help"]
