# lint: what the tree itself must satisfy.
LINTS += tests/lint/check-includes.sh tests/lint/check-headers.sh tests/lint/check-symbols.sh
EXTRA_DIST += tests/lint/check-includes.sh tests/lint/check-headers.sh \
	tests/lint/check-symbols.sh
LINTS += tests/lint/check-docs.sh tests/lint/check-compat.sh
EXTRA_DIST += tests/lint/check-docs.sh tests/lint/check-compat.sh tests/lint/report.sh \
	tests/lint/README.md
