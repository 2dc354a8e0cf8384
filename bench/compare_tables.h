/* What bench/compare measures: sizes, metrics, who is measured for each, gates. compare.c alone
 * includes it. */
#ifndef BENCH_COMPARE_TABLES_H
#define BENCH_COMPARE_TABLES_H

#include <stdbool.h>
#include <stddef.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const size_t sizes[] = {8,         64,      256,     1 * KIB,  4 * KIB,  16 * KIB, 64 * KIB,
                               256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

/* What a figure is, made of the seconds that one operation took. */
enum kind { TRIP, MEAN_TRIP, RATE, STREAM, PASS, KINDS };
static const struct {
    const char *unit;
    bool less_is_more; /* a time */
    bool mean;         /* of a run counts, since the peers print means; else the median */
} kinds[KINDS] = {
    [TRIP] = {"us", true, false},  [MEAN_TRIP] = {"us", true, true},
    [RATE] = {"M/s", false, true}, [STREAM] = {"MB/s", false, true},
    [PASS] = {"ns", true, false},
};

enum metric_id {
    SM_TRIP,
    SM_RATE,
    SM_TAG_TRIP,
    SM_TAG_RATE,
    SM_TAG_STREAM,
    SM_TAG_CROWD,
    SM_BTL2_TRIP,
    SM_BTL2_PUTS,
    SM_STREAM,
    SM_ROTATE,
    SM_AWAY_PUT,
    SM_AWAY_PUTS,
    TCP_TRIP,
    TCP_STREAM,
    TCP_TAG_TRIP,
    OFI_TCP_TRIP,
    OFI_SHM_TRIP,
    OFI_UDP_TRIP,
    DGRAM_TRIP,
    DGRAM_STREAM,
    SM_COMPANY,
    SM_RAILS,
    SM_PASS,
    TCP_PASS,
    METRICS
};

struct metric {
    const char *name;
    enum kind kind;
    size_t first, last; /* of the sizes */
};

static const struct metric metrics[METRICS] = {
    [SM_TRIP] = {"shared memory, half trip", TRIP, 8, 1 * MIB},
    [SM_RATE] = {"shared memory, rate", RATE, 8, 8},
    [SM_TAG_TRIP] = {"messages by tag over sm, half trip", TRIP, 8, 8},
    [SM_TAG_RATE] = {"messages by tag over sm, rate", RATE, 8, 8},
    [SM_TAG_STREAM] = {"messages by tag over sm, stream", STREAM, 4 * KIB, 16 * MIB},
    [SM_TAG_CROWD] = {"messages by tag over sm, half trip among others", TRIP, 8, 8},
    [SM_BTL2_TRIP] = {"BTL 2.0 over sm, half trip", TRIP, 8, 8},
    [SM_BTL2_PUTS] = {"BTL 2.0 over sm, stream of puts", STREAM, 1 * MIB, 1 * MIB},
    [SM_STREAM] = {"shared memory, stream", STREAM, 64, 256 * MIB},
    [SM_ROTATE] = {"shared memory, stream, buffers that rotate", STREAM, 4 * KIB, 16 * MIB},
    [SM_AWAY_PUT] = {"shared memory, one put, target computes", TRIP, 8, 1 * MIB},
    [SM_AWAY_PUTS] = {"shared memory, puts, target computes", STREAM, 4 * KIB, 16 * MIB},
    [TCP_TRIP] = {"TCP on loopback, half trip", TRIP, 8, 1 * MIB},
    [TCP_STREAM] = {"TCP on loopback, stream", STREAM, 64, 256 * MIB},
    [TCP_TAG_TRIP] = {"messages by tag over TCP, half trip", TRIP, 8, 8},
    [OFI_TCP_TRIP] = {"libfabric tcp;ofi_rxm, half trip", MEAN_TRIP, 8, 8},
    [OFI_SHM_TRIP] = {"libfabric shm, half trip", MEAN_TRIP, 8, 8},
    [OFI_UDP_TRIP] = {"libfabric udp;ofi_rxd, half trip", MEAN_TRIP, 8, 8},
    [DGRAM_TRIP] = {"datagrams on loopback, half trip", TRIP, 64, 64},
    [DGRAM_STREAM] = {"datagrams on loopback, stream", STREAM, 64 * KIB, 64 * KIB},
    [SM_COMPANY] = {"sm, half trip among idle ranks", TRIP, 8, 8},
    [SM_RAILS] = {"sm, half trip beside other rails", TRIP, 8, 8},
    [SM_PASS] = {"sm, an empty pass of progress", PASS, 8, 8},
    [TCP_PASS] = {"tcp, an empty pass of progress", PASS, 8, 8},
};

enum source {
    FROM_KEEL,
    FROM_PASSES,
    FROM_RAW,
    FROM_DGRAM,
    FROM_UCX,
    FROM_MPI,
    FROM_MPICH,
    FROM_FABRIC,
    SOURCES
};

/* Peers that may not be installed, and programs of this folder that may not be built. */
static const struct {
    const char *name, *program, *built;
} peers[SOURCES] = {
    [FROM_DGRAM] = {"bare datagrams", NULL, "dgram"},
    [FROM_UCX] = {"UCX", "ucx_perftest", NULL},
    [FROM_MPI] = {"MPI", "mpirun.openmpi", "pingpong"},
    [FROM_MPICH] = {"MPICH", "mpiexec.hydra", "pingpong.mpich"},
    [FROM_FABRIC] = {"fi_pingpong", "fi_pingpong", NULL},
};

/* BASE: Keel's own layer below; NOTE: shown, and compared with nobody */
enum role { KEEL = 1, PEER = 2, RAW = 4, BASE = 8, NOTE = 16 };

struct probe {
    enum metric_id metric;
    enum role role;
    enum source source;
    const char *name;
    const char *what;    /* the program's test and options */
    const char *rail;    /* of Keel and MPI; NULL: the best of those that options name */
    size_t first, last;  /* the sizes that it can; 0: all of the metric's */
    unsigned count;      /* of operations of ucx_perftest, at most */
    const char *options; /* of keelrun, beside the usual ones; NULL: -n 2 */
};

#define UCX_CMA "-d memory -x cma -t put_bw -D zcopy"
#define UCX_TAGS "@UCX_TLS=posix,cma,self -t "
#define OFI_LO "--mca btl_ofi_domain lo --mca btl_ofi_provider "
#define USNIC_LO "-n 2 --mca btl_usnic_if_include lo"

static const struct probe probes[] = {
    {SM_TRIP, KEEL, FROM_KEEL, "Keel sm", .what = "am_lat", .rail = "sm"},
    {SM_TRIP, PEER, FROM_UCX, "UCX posix", .what = "-d memory -x posix -t am_lat", .first = 8,
     .last = 8, .count = 200000},
    {SM_TRIP, PEER, FROM_UCX, "UCX posix bcopy", .what = "-d memory -x posix -t am_lat -D bcopy",
     .first = 64, .last = 4 * KIB, .count = 200000},
    {SM_TRIP, PEER, FROM_MPI, "MPI over vader", .what = "trip", .rail = "self,vader"},
    {SM_TRIP, RAW, FROM_RAW, "raw cache line", .what = "cacheline", .first = 8, .last = 8},
    {SM_RATE, KEEL, FROM_KEEL, "Keel sm", .what = "am_rate", .rail = "sm"},
    {SM_RATE, PEER, FROM_UCX, "UCX posix", .what = "-d memory -x posix -t am_bw", .count = 2000000},
    {SM_RATE, PEER, FROM_MPI, "MPI over vader", .what = "rate", .rail = "self,vader"},
    {SM_TAG_TRIP, KEEL, FROM_KEEL, "Keel sm", .what = "tag_lat", .rail = "sm"},
    {SM_TAG_TRIP, BASE, FROM_KEEL, "its active messages", .what = "am_lat", .rail = "sm"},
    {SM_TAG_TRIP, NOTE, FROM_KEEL, "with tcp as standby", .what = "tag_lat",
     .options = "-n 2 --mca btl self,sm,tcp"},
    {SM_TAG_TRIP, PEER, FROM_MPI, "MPI over vader", .what = "trip", .rail = "self,vader"},
    {SM_TAG_TRIP, PEER, FROM_MPICH, "MPICH", .what = "trip"},
    {SM_TAG_TRIP, RAW, FROM_UCX, "UCX tags", .what = UCX_TAGS "tag_lat", .count = 2000000},
    {SM_TAG_RATE, KEEL, FROM_KEEL, "Keel sm", .what = "tag_rate", .rail = "sm"},
    {SM_TAG_RATE, NOTE, FROM_KEEL, "with tcp as standby", .what = "tag_rate",
     .options = "-n 2 --mca btl self,sm,tcp"},
    {SM_TAG_RATE, PEER, FROM_MPI, "MPI over vader", .what = "rate", .rail = "self,vader"},
    {SM_TAG_RATE, PEER, FROM_MPICH, "MPICH", .what = "rate"},
    {SM_TAG_STREAM, KEEL, FROM_KEEL, "Keel sm", .what = "tag_bw", .rail = "sm"},
    {SM_TAG_STREAM, RAW, FROM_KEEL, "its put", .what = "put_bw", .rail = "sm"},
    {SM_TAG_STREAM, PEER, FROM_MPI, "MPI over vader", .what = "rate", .rail = "self,vader"},
    {SM_TAG_STREAM, NOTE, FROM_MPICH, "MPICH", .what = "rate"},
    {SM_TAG_CROWD, KEEL, FROM_KEEL, "10000 posted", .what = "tag_lat --posted 10000", .rail = "sm"},
    {SM_TAG_CROWD, KEEL, FROM_KEEL, "10000 unexpected", .what = "tag_lat --unexpected 10000",
     .rail = "sm"},
    {SM_TAG_CROWD, NOTE, FROM_KEEL, "10000 posted, any", .what = "tag_lat --posted 10000 --any",
     .rail = "sm"},
    {SM_TAG_CROWD, NOTE, FROM_KEEL, "any", .what = "tag_lat --any", .rail = "sm"},
    {SM_TAG_CROWD, PEER, FROM_KEEL, "none", .what = "tag_lat", .rail = "sm"},
    {SM_BTL2_TRIP, KEEL, FROM_KEEL, "BTL 2.0", .what = "am2_lat", .rail = "sm"},
    {SM_BTL2_TRIP, PEER, FROM_KEEL, "BTL 3.0", .what = "am_lat", .rail = "sm"},
    {SM_BTL2_PUTS, KEEL, FROM_KEEL, "BTL 2.0", .what = "put2_bw", .rail = "sm"},
    {SM_BTL2_PUTS, PEER, FROM_KEEL, "BTL 3.0", .what = "put_bw", .rail = "sm"},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm put", .what = "put_bw", .rail = "sm"},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm get", .what = "get_bw", .rail = "sm"},
    {SM_STREAM, KEEL, FROM_KEEL, "Keel sm messages", .what = "am_bw", .rail = "sm"},
    {SM_STREAM, PEER, FROM_UCX, "UCX cma put", .what = UCX_CMA, .count = 200000},
    {SM_STREAM, PEER, FROM_MPI, "MPI over vader", .what = "rate", .rail = "self,vader"},
    {SM_STREAM, RAW, FROM_RAW, "raw CMA", .what = "cma"},
    {SM_STREAM, NOTE, FROM_RAW, "memcpy, one process", .what = "memcpy"},
    {SM_ROTATE, KEEL, FROM_KEEL, "Keel sm put", .what = "put_bw --rotate 256m", .rail = "sm"},
    {SM_ROTATE, KEEL, FROM_KEEL, "Keel sm get", .what = "get_bw --rotate 256m", .rail = "sm"},
    {SM_ROTATE, KEEL, FROM_KEEL, "Keel sm messages", .what = "am_bw --rotate 256m", .rail = "sm"},
    {SM_ROTATE, PEER, FROM_MPI, "MPI over vader", .what = "rate rotate", .rail = "self,vader"},
    {SM_ROTATE, RAW, FROM_RAW, "raw CMA", .what = "cma rotate"},
    {SM_ROTATE, NOTE, FROM_RAW, "memcpy, one process", .what = "memcpy rotate"},
    {SM_AWAY_PUT, KEEL, FROM_KEEL, "Keel sm", .what = "put_lat --compute 1000", .rail = "sm"},
    {SM_AWAY_PUT, NOTE, FROM_KEEL, "Keel sm, target polls", .what = "put_lat", .rail = "sm"},
    {SM_AWAY_PUT, PEER, FROM_UCX, "UCX cma", .what = UCX_CMA " -o -O 1", .count = 200000},
    {SM_AWAY_PUT, RAW, FROM_RAW, "raw CMA", .what = "cma"},
    {SM_AWAY_PUTS, KEEL, FROM_KEEL, "Keel sm", .what = "put_bw --compute 1000", .rail = "sm"},
    {SM_AWAY_PUTS, NOTE, FROM_KEEL, "Keel sm, target polls", .what = "put_bw", .rail = "sm"},
    {SM_AWAY_PUTS, PEER, FROM_UCX, "UCX cma", .what = UCX_CMA " -o", .count = 200000},
    {SM_AWAY_PUTS, RAW, FROM_RAW, "raw CMA", .what = "cma"},
    {TCP_TRIP, KEEL, FROM_KEEL, "Keel tcp", .what = "am_lat", .rail = "tcp"},
    {TCP_TRIP, PEER, FROM_UCX, "UCX tcp", .what = "-d lo -x tcp -t am_lat", .first = 8, .last = 8,
     .count = 20000},
    {TCP_TRIP, PEER, FROM_UCX, "UCX tcp zcopy", .what = "-d lo -x tcp -t am_lat -D zcopy",
     .first = 64, .last = 64 * KIB, .count = 20000},
    {TCP_TRIP, PEER, FROM_MPI, "MPI over tcp", .what = "trip", .rail = "self,tcp"},
    {TCP_TRIP, RAW, FROM_RAW, "raw socket, polled", .what = "tcp_trip"},
    {TCP_STREAM, KEEL, FROM_KEEL, "Keel tcp put", .what = "put_bw", .rail = "tcp"},
    {TCP_STREAM, KEEL, FROM_KEEL, "Keel tcp messages", .what = "am_bw", .rail = "tcp"},
    {TCP_STREAM, PEER, FROM_UCX, "UCX tcp put", .what = "-d lo -x tcp -t put_bw -D zcopy",
     .count = 20000},
    {TCP_STREAM, PEER, FROM_UCX, "UCX tags over tcp", .what = "-t tag_bw", .count = 20000},
    {TCP_STREAM, PEER, FROM_MPI, "MPI over tcp", .what = "rate", .rail = "self,tcp"},
    {TCP_STREAM, RAW, FROM_RAW, "raw socket", .what = "tcp_stream"},
    {TCP_TAG_TRIP, KEEL, FROM_KEEL, "Keel tcp", .what = "tag_lat", .rail = "tcp"},
    {TCP_TAG_TRIP, RAW, FROM_KEEL, "its active messages", .what = "am_lat", .rail = "tcp"},
    {TCP_TAG_TRIP, NOTE, FROM_MPI, "MPI over tcp", .what = "trip", .rail = "self,tcp"},
    {OFI_TCP_TRIP, KEEL, FROM_KEEL, "Keel ofi", .what = "am_lat", .rail = "ofi",
     .options = "-n 2 " OFI_LO "tcp;ofi_rxm"},
    {OFI_TCP_TRIP, PEER, FROM_FABRIC, "fi_pingpong", .what = "tcp;ofi_rxm lo 8 20000"},
    {OFI_SHM_TRIP, KEEL, FROM_KEEL, "Keel ofi", .what = "am_lat", .rail = "ofi",
     .options = "-n 2 --mca btl_ofi_provider shm"},
    {OFI_SHM_TRIP, PEER, FROM_FABRIC, "fi_pingpong", .what = "shm shm 8 200000"},
    {OFI_UDP_TRIP, KEEL, FROM_KEEL, "Keel ofi", .what = "am_lat", .rail = "ofi",
     .options = "-n 2 " OFI_LO "udp;ofi_rxd"},
    {OFI_UDP_TRIP, PEER, FROM_FABRIC, "fi_pingpong", .what = "udp;ofi_rxd lo 8 10000"},
    {DGRAM_TRIP, KEEL, FROM_KEEL, "Keel usnic", .what = "am_lat", .rail = "usnic",
     .options = USNIC_LO},
    {DGRAM_TRIP, PEER, FROM_KEEL, "Keel ofi, rxd", .what = "am_lat", .rail = "ofi",
     .options = "-n 2 " OFI_LO "udp;ofi_rxd"},
    {DGRAM_TRIP, PEER, FROM_FABRIC, "fi_pingpong, rxd", .what = "udp;ofi_rxd lo 64 10000"},
    {DGRAM_TRIP, NOTE, FROM_FABRIC, "fi_pingpong, dgram", .what = "udp lo 64 10000 dgram"},
    {DGRAM_TRIP, RAW, FROM_DGRAM, "bare datagrams", .what = "trip"},
    {DGRAM_STREAM, KEEL, FROM_KEEL, "Keel usnic messages", .what = "am_bw", .rail = "usnic",
     .options = USNIC_LO},
    {DGRAM_STREAM, NOTE, FROM_KEEL, "Keel usnic put", .what = "put_bw", .rail = "usnic",
     .options = USNIC_LO},
    {DGRAM_STREAM, PEER, FROM_KEEL, "Keel ofi, rxd", .what = "am_bw", .rail = "ofi",
     .options = "-n 2 " OFI_LO "udp;ofi_rxd"},
    {DGRAM_STREAM, RAW, FROM_DGRAM, "bare datagrams", .what = "stream"},
    {SM_COMPANY, KEEL, FROM_KEEL, "2 ranks", .what = "am_lat", .rail = "sm"},
    {SM_COMPANY, NOTE, FROM_KEEL, "4 ranks", .what = "am_lat", .rail = "sm",
     .options = "--oversubscribe -n 4"},
    {SM_COMPANY, NOTE, FROM_KEEL, "8 ranks", .what = "am_lat", .rail = "sm",
     .options = "--oversubscribe -n 8"},
    {SM_COMPANY, NOTE, FROM_KEEL, "16 ranks", .what = "am_lat", .rail = "sm",
     .options = "--oversubscribe -n 16"},
    {SM_RAILS, PEER, FROM_KEEL, "sm and self alone", .what = "am_lat",
     .options = "-n 2 --mca btl self,sm"},
    {SM_RAILS, NOTE, FROM_KEEL, "and tcp", .what = "am_lat",
     .options = "-n 2 --mca btl self,sm,tcp"},
    {SM_RAILS, KEEL, FROM_KEEL, "and tcp and ofi", .what = "am_lat",
     .options = "-n 2 --mca btl self,sm,tcp,ofi " OFI_LO "tcp;ofi_rxm"},
    {SM_PASS, NOTE, FROM_PASSES, "15 never met", .what = "strangers", .rail = "sm",
     .options = "-n 16"},
    {SM_PASS, KEEL, FROM_PASSES, "1 peer", .what = "met", .rail = "sm", .options = "-n 2"},
    {SM_PASS, NOTE, FROM_PASSES, "3 peers", .what = "met", .rail = "sm", .options = "-n 4"},
    {SM_PASS, NOTE, FROM_PASSES, "7 peers", .what = "met", .rail = "sm", .options = "-n 8"},
    {SM_PASS, NOTE, FROM_PASSES, "15 peers", .what = "met", .rail = "sm", .options = "-n 16"},
    {TCP_PASS, NOTE, FROM_PASSES, "15 never met", .what = "strangers", .rail = "tcp",
     .options = "-n 16"},
    {TCP_PASS, KEEL, FROM_PASSES, "1 peer", .what = "met", .rail = "tcp", .options = "-n 2"},
    {TCP_PASS, NOTE, FROM_PASSES, "15 peers", .what = "met", .rail = "tcp", .options = "-n 16"},
};
enum { PROBES = sizeof(probes) / sizeof(*probes) };

/* Judged by the median of the ratios of single rounds: at most this times the time of the best of
 * those beside it, or at least this times their rate. Of Keel's rows the worst counts. */
static const struct gate {
    enum metric_id metric;
    size_t bytes;
    const char *which; /* of Keel's rows: a part of their names */
    unsigned beside;   /* roles */
    double factor;
    double margin_us; /* within it a time is met as well */
    bool is_goal;
} gates[] = {
    {SM_TRIP, 8, "", PEER, 1.0, 0, false},
    {SM_TRIP, 8, "", RAW, 1.25, 0, true},
    {SM_RATE, 8, "", PEER, 1.0, 0, false},
    {SM_RATE, 8, "", PEER, 1.5, 0, true},
    {SM_TAG_TRIP, 8, "", PEER, 1.0, 0, false},
    {SM_TAG_RATE, 8, "", PEER, 1.0, 0, false},
    {SM_TAG_TRIP, 8, "", RAW, 1.0, 0, true},
    {SM_TAG_TRIP, 8, "", BASE, 1.0, 0.03, true},
    {SM_TAG_STREAM, 1 * MIB, "", RAW, 0.9, 0, false},
    {SM_TAG_STREAM, 1 * MIB, "", PEER, 1.0, 0, false},
    {SM_TAG_CROWD, 8, "", PEER, 2.0, 0, false},
    {TCP_TAG_TRIP, 8, "", RAW, 1.1, 0, false},
    {SM_BTL2_TRIP, 8, "", PEER, 1.0, 0.02, false},
    {SM_BTL2_PUTS, 1 * MIB, "", PEER, 0.97, 0, false},
    {SM_STREAM, 1 * MIB, "", PEER | RAW, 0.95, 0, false},
    {SM_STREAM, 64 * MIB, "put", PEER | RAW, 0.95, 0, false},
    {SM_STREAM, 256 * MIB, "put", PEER | RAW, 0.95, 0, false},
    {TCP_TRIP, 8, "", PEER, 1.0, 0, false},
    {TCP_TRIP, 8, "", RAW, 1.1, 0, true},
    {TCP_STREAM, 1 * MIB, "put", PEER, 0.95, 0, false},
    {TCP_STREAM, 1 * MIB, "put", RAW, 0.95, 0, false},
    {OFI_TCP_TRIP, 8, "", PEER, 1.1, 0.06, false},
    {OFI_SHM_TRIP, 8, "", PEER, 1.1, 0.06, false},
    {OFI_UDP_TRIP, 8, "", PEER, 1.1, 0.06, false},
    {DGRAM_TRIP, 64, "", RAW, 1.25, 0, false},
    {DGRAM_TRIP, 64, "", RAW, 1.1, 0, true},
    {DGRAM_TRIP, 64, "", PEER, 1.0, 0, false},
    {DGRAM_STREAM, 64 * KIB, "", RAW, 0.85, 0, false},
    {DGRAM_STREAM, 64 * KIB, "", PEER, 1.0, 0, false},
    {SM_RAILS, 8, "", PEER, 1.5, 0, true},
};
enum { GATES = sizeof(gates) / sizeof(*gates) };

#endif
