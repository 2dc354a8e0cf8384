/* Ranks that only wait for others, which end. Usage: mourner HOW VICTIM...
 *
 * The victims tell the even ranks one word, say "victim RANK PID" and then, by HOW:
 *   stay   stay until they are killed
 *   exit   end without keel_finalize
 *   talk   send rank 0 WORDS more words and kill themselves
 * The others wait for one more word of each victim, and print "rank RANK: VICTIM ended: STATUS,
 * heard WORDS, told TIMES", TIMES by exceptions; then the same for receives posted later, as
 * "again". All but rank 0 then leave with keel_finalize, which cannot be a fence any more, and rank
 * 0 waits for them, too. Without victims every rank tells every other one word and leaves;
 * exceptions are printed. */
#include <keel/keel.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 200, RANKS_MAX = 64, WORDS = 50, WORD_BYTES = 3000, LIMIT_S = 30 };

static uint32_t me, size;
static bool victim[RANKS_MAX];
static int told[RANKS_MAX];

static void on_exception(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    if (peer->jobid == keel_my_name()->jobid && exception == ORTE_RML_PEER_DISCONNECTED) {
        told[peer->vpid % RANKS_MAX]++;
    } else {
        printf("rank %u: exception %d of %u.%u\n", me, (int) exception, peer->jobid, peer->vpid);
    }
}

static int say(uint32_t to, int words, int flags)
{
    static uint8_t word[WORD_BYTES];
    struct iovec part = {word, sizeof(word)};
    orte_process_name_t peer = {keel_my_name()->jobid, to};
    int status = ORTE_SUCCESS;
    for (int i = 0; i < words && status >= 0; i++) {
        status = orte_rml.send(&peer, &part, 1, TAG, flags);
    }
    return status;
}

static int hear(uint32_t from)
{
    static uint8_t word[WORD_BYTES];
    struct iovec part = {word, sizeof(word)};
    orte_process_name_t peer = {keel_my_name()->jobid, from};
    return orte_rml.recv(&peer, &part, 1, TAG, 0);
}

static void die(const char *how)
{
    for (uint32_t rank = 0; rank < size; rank += 2) {
        if (!victim[rank] && say(rank, 1, KEEL_RML_DELIVERED) < 0) {
            _exit(5);
        }
    }
    printf("victim %u %d\n", me, (int) getpid());
    fflush(stdout);
    if (strcmp(how, "exit") == 0) {
        _exit(0);
    }
    if (strcmp(how, "talk") == 0) {
        if (say(0, WORDS - 1, 0) < 0 || say(0, 1, KEEL_RML_DELIVERED) < 0) {
            _exit(5);
        }
        raise(SIGKILL);
    }
    sleep(LIMIT_S);
    _exit(6);
}

static void mourn(uint32_t whom)
{
    int status, heard = 0;
    while ((status = hear(whom)) >= 0) {
        heard++;
    }
    for (int i = 0; i < 100; i++) {
        keel_progress();
    }
    printf("rank %u: %u ended: %d, heard %d, told %d\n", me, whom, status, heard, told[whom]);
    printf("rank %u: %u again: %d, told %d\n", me, whom, hear(whom), told[whom]);
    fflush(stdout);
}

static void tell_all(void)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rank != me && say(rank, 1, 0) < 0) {
            _exit(5);
        }
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rank != me && hear(rank) < 0) {
            _exit(5);
        }
    }
}

static int leave(void)
{
    (void) keel_finalize(); /* fails where a rank is lost */
    for (uint32_t rank = 0; rank < size; rank++) {
        if (!victim[rank] && told[rank] > 0 && me != 0) {
            printf("rank %u: exception of %u\n", me, rank);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || keel_init(NULL) != ORTE_SUCCESS) {
        return 8;
    }
    me = keel_my_name()->vpid;
    size = keel_job_size();
    if (size > RANKS_MAX) {
        return 8;
    }
    alarm(LIMIT_S);
    (void) orte_rml.add_exception_handler(on_exception);
    for (int i = 2; i < argc; i++) {
        victim[atoi(argv[i]) % RANKS_MAX] = true;
    }
    if (keel_fence() != ORTE_SUCCESS) {
        return 7;
    }
    if (argc == 2) {
        tell_all();
        return leave();
    }
    if (victim[me]) {
        die(argv[1]);
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        if (victim[rank]) {
            mourn(rank);
        }
    }
    for (uint32_t rank = 1; rank < size && me == 0; rank++) {
        if (!victim[rank]) {
            mourn(rank);
        }
    }
    return leave();
}
