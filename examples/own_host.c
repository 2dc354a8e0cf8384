/* own_host: Keel's data plane without Keel's launcher. The host is this program: two processes and
 * a pipe between them, over which they pass their cards. Rank 0 sends a line by an active message,
 * over the best rail that the modules offer, and rank 1 prints it.
 *
 *   own_host [TEXT]
 */
#include <keel/host.h>

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, CARDS = 8, TEXT_TAG = MCA_BTL_TAG_USR, SECONDS = 10 };

/* What a rank publishes. */
struct cards {
    uint32_t count;
    struct {
        char key[64];
        size_t size;
        uint8_t data[4096];
    } at[CARDS];
};

static int rank;
static opal_proc_t procs[RANKS];
static struct cards cards[RANKS];
static uint8_t secret[crypto_generichash_KEYBYTES]; /* of the job: made before the fork */
static int pipe_end;                                /* to the other process */

static void check(int status, const char *what, const char *reason)
{
    if (status < 0) {
        fprintf(stderr, "own_host: %s: %s %s\n", what, opal_strerror(status), reason);
        exit(1);
    }
}

/* --- the host: what modules ask --- */

static const opal_proc_t *me(void *host)
{
    (void) host;
    return &procs[rank];
}

static int put_card(void *host, const char *key, const void *data, size_t size)
{
    struct cards *mine = &cards[rank];
    (void) host;
    if (mine->count == CARDS || size > sizeof(mine->at->data)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    snprintf(mine->at[mine->count].key, sizeof(mine->at->key), "%s", key);
    memcpy(mine->at[mine->count].data, data, size);
    mine->at[mine->count++].size = size;
    return OPAL_SUCCESS;
}

static void get_card(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                     void *arg)
{
    const struct cards *theirs = &cards[peer->proc_name.vpid];
    (void) host;
    for (uint32_t i = 0; i < theirs->count; i++) {
        if (strcmp(theirs->at[i].key, key) == 0) {
            done(arg, OPAL_SUCCESS, theirs->at[i].data, theirs->at[i].size);
            return;
        }
    }
    done(arg, OPAL_ERR_NOT_FOUND, NULL, 0);
}

/* There is one pair, so the purpose alone makes the difference. */
static int pair_key(void *host, const orte_process_name_t *peer, const char *purpose,
                    uint8_t key[32])
{
    (void) host, (void) peer;
    return crypto_generichash(key, 32, (const uint8_t *) purpose, strlen(purpose), secret,
                              sizeof(secret));
}

static const struct keel_host_ops host_ops = {
    .me = me, .put_card = put_card, .get_card = get_card, .pair_key = pair_key};

/* One pass. The pipe's end tells that the other process has ended. */
static void progress(void)
{
    char byte;
    ssize_t got = recv(pipe_end, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool ended = got == 0 || (got < 0 && errno != EAGAIN);
    check(ended ? OPAL_ERR_UNREACH : OPAL_SUCCESS, "the other process", "has ended");
    (void) keel_host_progress();
}

/* Each process gives something and gets the other's. The data plane goes on while it waits. */
static void swap(const void *mine, void *theirs, size_t size)
{
    (void) !send(pipe_end, mine, size, MSG_NOSIGNAL);
    while (recv(pipe_end, theirs, size, MSG_DONTWAIT) <= 0) {
        progress();
    }
}

/* Neither goes on before the other one has come, too. */
static void meet(void)
{
    char byte = 0;
    swap(&byte, &byte, 1);
}

/* --- the data plane --- */

static int heard;

static void text_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t *descriptor, void *arg)
{
    const mca_btl_base_segment_t *text = &descriptor->des_segments[0];
    (void) tag, (void) arg;
    printf("rank 1 heard over %s: %.*s\n", btl->btl_component->btl_version.mca_component_name,
           (int) text->seg_len, (char *) text->seg_addr.pval);
    heard = 1;
}

static void run(char *text)
{
    char reason[256] = "";
    opal_proc_t *all[RANKS] = {&procs[0], &procs[1]};
    size_t count;
    int status = OPAL_ERR_OUT_OF_RESOURCE;
    check(keel_host_open(&host_ops, NULL, NULL, reason, sizeof(reason)), "open", reason);
    swap(&cards[rank], &cards[1 - rank], sizeof(struct cards));
    check(keel_host_add_procs(all, RANKS, reason, sizeof(reason)), "add", reason);
    const struct keel_rail *rail = keel_host_rails(all[1 - rank], &count);
    check(rail ? OPAL_SUCCESS : OPAL_ERR_UNREACH, "rails", "");
    rail->btl->btl_register(rail->btl, TEXT_TAG, text_arrived, NULL);
    meet(); /* nobody sends before the other one can receive */
    while (rank == 0 && status == OPAL_ERR_OUT_OF_RESOURCE) { /* progress makes room */
        progress();
        status = rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, text, strlen(text), 0,
                                      MCA_BTL_NO_ORDER, 0, TEXT_TAG, NULL);
    }
    check(rank == 0 ? status : OPAL_SUCCESS, "send", "");
    while (rank == 1 && !heard) {
        progress();
    }
    meet(); /* nor closes while the other one may need it */
    check(keel_host_close(), "close", "");
}

int main(int argc, char **argv)
{
    static char greeting[] = "hello";
    int ends[RANKS], status = 0;
    if (sodium_init() < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        perror("own_host");
        return 1;
    }
    randombytes_buf(secret, sizeof(secret));
    for (uint32_t i = 0; i < RANKS; i++) {
        procs[i] = (opal_proc_t){
            .proc_name = {.jobid = 1, .vpid = i}, .local_rank = i, .hostname = "here"};
    }
    rank = fork() != 0;
    alarm(SECONDS); /* whatever happens, nobody waits for ever */
    pipe_end = ends[rank];
    close(ends[1 - rank]);
    run(argc > 1 ? argv[1] : greeting);
    return rank == 1 && (wait(&status) < 0 || status != 0);
}
