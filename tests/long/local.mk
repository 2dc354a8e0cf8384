# long: what takes minutes (make check-long). The scripts named after an MPI run all of tests/mpi.
LONG_TESTS = tests/long/mpich.sh tests/long/openmpi-vader.sh tests/long/openmpi-tcp.sh \
	tests/long/openmpi-default.sh tests/long/openmpi-ofi.sh tests/long/repeat.sh \
	tests/long/bulk.sh
EXTRA_DIST += tests/lib/matrix.sh $(LONG_TESTS)

check-long: all check-programs
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(LONG_TESTS)' TEST_SUITE_LOG=check-long.log
.PHONY: check-long
