# Every task of the project. `make` alone lists them.

PYTHON ?= python3
# Arguments for pytest, such as `make test PYTEST="-k yaml"`; tests run side by side, one process a core.
PYTEST ?= -n auto

PY := .venv/bin/python
KBTOOL := .venv/bin/kbtool
SETUP := .venv/.setup-done

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Use

.PHONY: site
site: records ## Lint the records and build the whole site into build/site
	$(KBTOOL) build
	@echo
	@echo "The site is in build/site: open build/site/index.html, or serve it with 'make serve'."

.PHONY: serve
serve: $(SETUP) ## Serve the site on this machine; a changed record shows within seconds
	$(KBTOOL) serve

.PHONY: records
records: $(SETUP) ## Lint the records
	$(KBTOOL) lint

##@ Develop

.PHONY: setup
setup: $(SETUP) ## Make or refresh .venv, which holds everything else that is needed

$(SETUP): pyproject.toml constraints.txt scripts/setup_venv.sh
	@scripts/setup_venv.sh "$(PYTHON)"
	@touch $@

.PHONY: fix
fix: $(SETUP) ## Format code and records, and repair what can be repaired mechanically
	$(PY) -m ruff check --fix-only --exit-zero
	$(PY) -m ruff format
	$(KBTOOL) fmt

.PHONY: check
check: lint records schema-check test site ## Everything that CI checks, and nothing less

.PHONY: lint
lint: $(SETUP) ## Check format, style, types and layers of the code
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo

.PHONY: test
test: $(SETUP) ## Run every test; finds a Chromium, or installs one
	chromium=$$(scripts/ensure_chromium.sh) && CHROMIUM="$$chromium" $(PY) -m pytest $(PYTEST)

# A vLLM for CPUs: 3 GB, made once and by nothing else.
VLLM := build/engines/vllm-venv/.setup-done

$(VLLM): scripts/setup_vllm.sh
	@scripts/setup_vllm.sh "$(PYTHON)"

.PHONY: test-engines
test-engines: $(SETUP) $(VLLM) ## Test against a real vLLM on a CPU; installs 3 GB and takes minutes
	KBTOOL_TEST_ENGINES=1 $(PY) -m pytest -n0 --durations=0 tests/engines

.PHONY: golden
golden: $(SETUP) ## Rewrite the golden files from what the code does now; review the diff
	chromium=$$(scripts/ensure_chromium.sh) && CHROMIUM="$$chromium" $(PY) -m pytest --update-golden $(PYTEST)

.PHONY: schema
schema: $(SETUP) ## Write schema/*.schema.json from the models
	$(KBTOOL) schema

.PHONY: schema-check
schema-check: $(SETUP) ## Check that schema/ is what the models say
	$(KBTOOL) schema --check

.PHONY: bench
bench: $(SETUP) ## Measure the figures of benchmarks/README.md; takes half an hour
	$(PY) -m benchmarks

# Seconds that fuzzing takes.
FUZZ_S ?= 60

.PHONY: fuzz
fuzz: $(SETUP) ## Fuzz the YAML reader for a minute, starting from the attack files
	mkdir -p build/fuzz/corpus
	$(PY) tests/fuzz/fuzz_yaml.py -max_total_time=$(FUZZ_S) -artifact_prefix=build/fuzz/ build/fuzz/corpus tests/attacks

.PHONY: clean
clean: ## Remove everything that was built, but keep .venv
	rm -rf build dist .kbtool .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

.PHONY: help
help: ## List the tasks
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "%s%s\n", sep, substr($$0, 5); sep = "\n" } \
		/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
