PYTHON ?= python3

.PHONY: run test

run:
	$(PYTHON) bootstrap.py run

test:
	$(PYTHON) bootstrap.py test
