# Every target sets up what it needs: a private uv, then .venv from the committed lock.

PYTHON ?= python3
LOCK   ?= envs/cpu.lock
UV     := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
BIN    := .venv/bin

# Docker images often forbid Python to keep compiled modules, but each job of a run starts Python anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo digits clipart test test-long test-all test-avx2 check check-style check-types check-rules check-words lock

demo: .venv/.synced
	$(BIN)/clipaudit run
	@$(BIN)/clipaudit answers
	@echo "Tables: results/tables/*.md, figures: results/figures/*.png. To ask: $(BIN)/clipaudit sql"

digits: .venv/.synced
	$(BIN)/clipaudit run config/digits.yaml

# The Open Clip Art Library, by apt-get download or from files: make clipart DEBS="one.deb two.deb"
clipart: data/clipart/clipart.json
	$(BIN)/clipaudit run config/clipart.yaml
	@$(BIN)/clipaudit answers config/clipart.yaml
	@echo "Report: results_clipart/report/index.html; settings: config/clipart.yaml"

# Written last, so it marks whole shards; remove it to write them again.
data/clipart/clipart.json: | .venv/.synced
	$(BIN)/python -m clipaudit.demo.clipart $(@D) $(DEBS)

# Three workers keep two cores in use: one may wait for a run that another one makes.
test: .venv/.synced .uv/moto/.synced
	$(BIN)/pytest -n 3 -m "not slow and not long and not gpu and not browser and not slurm"

test-long: .venv/.synced .uv/moto/.synced
	$(BIN)/pytest -n 2 -m "long and not gpu"

# Both together share their finished runs.
test-all: .venv/.synced .uv/moto/.synced
	$(BIN)/pytest -n 3 -m "not slow and not gpu and not browser and not slurm"

# The tests of code that computes differently on processors without AVX-512, run as on these.
test-avx2: .venv/.synced
	ONEDNN_MAX_CPU_ISA=AVX2 $(BIN)/pytest -n 2 -m "not slow and not gpu" \
	  --ignore-glob "*/test_fused_*.py" --ignore-glob "*/test_native*.py" \
	  tests/training tests/neighbors tests/embeddings/test_embedding.py

# In parts, for `make -j2 check`.
check: check-style check-types check-rules check-words

check-style: .venv/.synced
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

check-types: .venv/.synced
	$(BIN)/mypy

check-rules: .venv/.synced
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

check-words: .venv/.synced
	$(BIN)/codespell *.md Snakefile docs clipaudit rules tests config workflow_scripts
	$(BIN)/pytest -q tests/docs/test_phrases.py

# --- the environment ---------------------------------------------------------------------------

# Installing clipaudit compiles the native search if there is a C++ compiler, and its modules.
NATIVE := hatch_build.py $(wildcard clipaudit/neighbors/native/*.cpp clipaudit/neighbors/native/*.h)

.venv/.synced: $(LOCK) pyproject.toml $(NATIVE) | $(UV)
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	UV_COMPILE_BYTECODE=1 $(UV) pip sync --quiet --python $(BIN)/python $(LOCK)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
	  --reinstall-package clipaudit --editable .
	$(BIN)/python -m compileall -q clipaudit
	touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet uv

# Programs that tests and benchmarks start.
.uv/%/.synced: envs/%.lock | $(UV)
	$(UV) venv --quiet --clear --python $(PYTHON) .uv/$*
	$(UV) pip sync --quiet --python .uv/$*/bin/python $<
	touch $@

lock: | $(UV)
	for kind in cpu gpu; do \
	  $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-package clipaudit --extra $$kind --extra dev pyproject.toml -o envs/$$kind.lock; \
	  { sed "s/KIND/$$kind/" envs/conda.header; \
	    $(UV) pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	      --no-emit-package clipaudit --extra $$kind --extra prov --extra remote --constraint envs/$$kind.lock \
	      pyproject.toml | sed 's/^/      - /'; } > envs/$$kind.yaml; \
	done
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-deps \
	  --group slurm -o envs/slurm.lock
	for program in img2dataset clip-retrieval moto readers docs; do \
	  $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --group $$program -o envs/$$program.lock; \
	done

# --- a cluster ---------------------------------------------------------------------------------

.PHONY: slurm-profile test-slurm

SLURM_PROFILE = $${XDG_CONFIG_HOME:-$$HOME/.config}/snakemake/slurm/config.yaml

# A copy for the site to fill in; an existing one is kept.
slurm-profile: .venv/.slurm
	@mkdir -p "$$(dirname "$(SLURM_PROFILE)")"
	@test -e "$(SLURM_PROFILE)" || cp profiles/slurm/config.yaml "$(SLURM_PROFILE)"
	@echo "Your account and partitions: the first lines of $(SLURM_PROFILE)"

# Separate, because it makes each start of Snakemake half as slow again, and pandas slows each job.
.venv/.slurm: .venv/.synced envs/slurm.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --requirement envs/slurm.lock
	touch $@

# Needs root and SLURM: apt-get install slurmctld slurmd slurm-client munge
test-slurm: .venv/.slurm
	$(BIN)/pytest -m slurm tests/slurm

# --- documentation -----------------------------------------------------------------------------

.PHONY: docs test-docs

# Strict: a broken link fails the build. Only the builder is downloaded, once.
docs: .uv/docs/.synced
	$(PYTHON) docs/stage.py docs-site
	cd docs-site && ../.uv/docs/bin/zensical build --strict
	@echo "Open docs-site/html/index.html; for the search: $(PYTHON) -m http.server -d docs-site/html"

# Reads the output of `make docs` page by page; skipped without the builder.
test-docs: .venv/.synced .uv/docs/.synced
	$(BIN)/pytest tests/docs/test_built_site.py

# --- slower targets ---------------------------------------------------------------------------

.PHONY: img2dataset test-slow test-readers test-pins test-browser demo-full evidence schema scale performance
.PHONY: audit-speed many-jobs ocr-speed text-tradeoff

# Without this, the test that downloads with img2dataset itself is skipped.
img2dataset: .uv/img2dataset/.synced

test-slow: .venv/.synced .uv/moto/.synced img2dataset
	$(BIN)/pytest -m "slow and not browser and not pins"

# Exports loaded by Hugging Face's datasets and by mlcroissant, Parquet files written by datasets, and
# stock open_clip_train, with pandas from there; skipped if these programs are not installed.
test-readers: .venv/.synced .uv/readers/.synced
	$(BIN)/pytest tests/exports/test_readers.py tests/imports/test_files_of_datasets.py \
	  tests/cli/test_stream_open_clip.py \
	  tests/workflow/test_audit_of_data.py::test_files_written_by_datasets_give_the_true_answer

# The wheel with the lowest and with the highest versions that pyproject.toml allows: two
# environments of some gigabytes, which uv links from its cache and the test removes.
test-pins: .venv/.synced | $(UV)
	$(BIN)/pytest -m pins tests/workflow/test_wheel.py

# Needs Chromium: apt-get install chromium, or CHROMIUM=/its/path
test-browser: .venv/.synced
	$(BIN)/pytest -m browser tests/site

demo-full: .venv/.synced
	$(BIN)/clipaudit run config/demo_full.yaml

# The tables that docs/evidence.md shows
EVIDENCE := $(addprefix results_evidence/tables/,similarity_evidence.md similarity_evidence_orders.md \
  memorization_evidence.md memorization_ensemble.md memorization_overlaps.md parrot_evidence.md parrot_truth.md)

evidence: .venv/.synced
	$(BIN)/clipaudit run config/evidence.yaml $(EVIDENCE:=.json) results_evidence/neighbors/own/large.json
	@cat $(EVIDENCE)
	$(BIN)/python -m clipaudit.similarity.scoring config/evidence.yaml
	$(BIN)/python -m clipaudit.memorization.false_alarms

# Hits and false alarms by the settings of parrot.text, then OCR of rotated images.
text-tradeoff: data/clipart/clipart.json
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/texttradeoff.py data/clipart
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/texttradeoff.py data/clipart --turned --pictures 24

# The documentation quotes their output; each has options: --help
ocr-speed: data/clipart/clipart.json
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/spotting.py data/clipart

performance: .venv/.synced
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/performance.py --markdown docs/performance.md

# clip-retrieval's environment has 5 GB, mostly torch, which uv links from its cache.
# On real drawings: make audit-speed DRAWINGS=data/clipart
audit-speed: .venv/.synced .uv/clip-retrieval/.synced img2dataset
	$(BIN)/python benchmarks/auditspeed.py --markdown docs/performance.md \
	  $(if $(DRAWINGS),--drawings $(DRAWINGS))

scale: .venv/.synced
	$(BIN)/python benchmarks/scale.py --markdown docs/scale.md

many-jobs: .venv/.synced
	$(BIN)/python benchmarks/manyjobs.py

schema: .venv/.synced
	$(BIN)/python -c "from clipaudit.config.loading import json_schema; print(json_schema(), end='')" > config/schema.json

# --- releases ------------------------------------------------------------------------------------

.PHONY: dist release

# The wheel, compiled for this kind of machine, and the source archive; see RELEASING.md.
dist: | $(UV)
	rm -rf dist
	$(UV) build --quiet --python $(PYTHON)
	$(UV) tool run --quiet twine check --strict dist/*

release:
	@test -z "$$(git status --porcelain)" || { echo "Commit or remove first: $$(git status --porcelain | head -3)"; exit 1; }
	@tag=v$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml); \
	  git tag --points-at HEAD | grep -qx "$$tag" || { echo "This commit has no tag $$tag, the version in pyproject.toml: git tag -a $$tag, or change the version."; exit 1; }
	$(MAKE) dist
