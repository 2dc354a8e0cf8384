# mpi: plain MPI programs, compiled for every MPI that is there: tests/mpi/NAME.mpich, NAME.openmpi.
MPI_TEST_FILES = tests/mpi/allreduce.c tests/mpi/bcast.c tests/mpi/end_early.c tests/mpi/hello.c \
	tests/mpi/helper.c tests/mpi/input.c tests/mpi/mapped.c tests/mpi/stay.c \
	tests/mpi/onesided.c tests/mpi/placement.c tests/mpi/publish.c tests/mpi/ring.c tests/mpi/spawn.c \
	tests/mpi/split_type.c
MPI_BINARIES =
if HAVE_MPICH
MPI_BINARIES += $(MPI_TEST_FILES:.c=.mpich)
endif
if HAVE_OPENMPI
MPI_BINARIES += $(MPI_TEST_FILES:.c=.openmpi)
endif
check_DATA = $(MPI_BINARIES)
CLEANFILES += $(MPI_BINARIES)

SUFFIXES = .mpich .openmpi
$(MPI_BINARIES): tests/mpi/mpi_test.h
.c.mpich:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(MPICH_MPICC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -o $@ $<
.c.openmpi:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(MPICC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -o $@ $<
