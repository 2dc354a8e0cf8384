/* own_host: Keel's data plane without Keel's launcher. The host is this program: two processes and
 * a pipe between them, over which they pass the cards. Rank 0 sends a line by an active message,
 * rank 1 answers it, over the best rail that the modules offer.
 *
 *   own_host [TEXT]
 */
#include <keel/host.h>

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, CARDS_MAX = 8, TEXT_TAG = MCA_BTL_TAG_USR, SECONDS = 10 };

struct card {
    char key[64];
    uint32_t size;
    uint8_t data[8192];
};

/* What keel_host_ops are called with: this process's view of the job. */
struct host {
    uint32_t rank;
    int pipe; /* to the other process */
    opal_proc_t procs[RANKS];
    uint32_t card_count[RANKS];
    struct card cards[RANKS][CARDS_MAX];
    uint8_t secret[crypto_generichash_KEYBYTES]; /* of the job: made before the fork */
    char dir[32];
};

static struct host host;

static void check(int status, const char *what, const char *reason)
{
    if (status < 0) {
        fprintf(stderr, "own_host: %s: %s %s\n", what, opal_strerror(status), reason);
        exit(1);
    }
}

/* --- the host: what modules ask --- */

static const opal_proc_t *me(void *arg)
{
    (void) arg;
    return &host.procs[host.rank];
}

static int put_card(void *arg, const char *key, const void *data, size_t size)
{
    (void) arg;
    uint32_t *count = &host.card_count[host.rank];
    struct card *card = &host.cards[host.rank][*count];
    if (*count == CARDS_MAX || size > sizeof(card->data)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    snprintf(card->key, sizeof(card->key), "%s", key);
    memcpy(card->data, data, size);
    card->size = (uint32_t) size;
    ++*count;
    return OPAL_SUCCESS;
}

static void get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                     void *done_arg)
{
    (void) arg;
    uint32_t rank = peer->proc_name.vpid;
    for (uint32_t i = 0; i < host.card_count[rank]; i++) {
        const struct card *card = &host.cards[rank][i];
        if (strcmp(card->key, key) == 0) {
            done(done_arg, OPAL_SUCCESS, card->data, card->size);
            return;
        }
    }
    done(done_arg, OPAL_ERR_NOT_FOUND, NULL, 0);
}

/* There is one pair, so the purpose alone makes the difference. */
static int pair_key(void *arg, const orte_process_name_t *peer, const char *purpose,
                    uint8_t key[32])
{
    (void) arg, (void) peer;
    return crypto_generichash(key, 32, (const uint8_t *) purpose, strlen(purpose), host.secret,
                              sizeof(host.secret)) == 0
               ? OPAL_SUCCESS
               : OPAL_ERROR;
}

static const char *session_dir(void *arg)
{
    (void) arg;
    return host.dir;
}

static const struct keel_host_ops host_ops = {.me = me,
                                              .put_card = put_card,
                                              .get_card = get_card,
                                              .pair_key = pair_key,
                                              .session_dir = session_dir};

/* --- the pipe --- */

/* The data plane goes on while this process waits for the other one. */
static void transfer(bool out, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        char *at = (char *) data + done;
        ssize_t some = out ? send(host.pipe, at, size - done, MSG_NOSIGNAL)
                           : recv(host.pipe, at, size - done, MSG_DONTWAIT);
        if (some > 0) {
            done += (size_t) some;
        } else if (some == 0 || (errno != EAGAIN && errno != EINTR)) {
            check(OPAL_ERR_UNREACH, "the other process", "has ended");
        }
        (void) keel_host_progress();
    }
}

/* One side writes first, the other one reads first, so that nobody waits for ever. */
static void swap(void *mine, void *others, size_t size)
{
    bool first = host.rank == 0;
    transfer(first, first ? mine : others, size);
    transfer(!first, first ? others : mine, size);
}

/* Both come here: neither goes on before the other one has come, too. */
static void meet(void)
{
    char mine = 0, others;
    swap(&mine, &others, 1);
}

static void swap_cards(void)
{
    uint32_t other = 1 - host.rank;
    swap(&host.card_count[host.rank], &host.card_count[other], sizeof(uint32_t));
    swap(host.cards[host.rank], host.cards[other], sizeof(host.cards[other]));
}

/* --- the data plane --- */

static void text_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t *descriptor, void *heard)
{
    const mca_btl_base_segment_t *text = &descriptor->des_segments[0];
    (void) tag;
    printf("rank 1 heard over %s: %.*s\n", btl->btl_component->btl_version.mca_component_name,
           (int) text->seg_len, (char *) text->seg_addr.pval);
    *(bool *) heard = true;
}

static void send_text(const struct keel_rail *rail, char *text)
{
    int status = OPAL_ERR_OUT_OF_RESOURCE;
    while (status == OPAL_ERR_OUT_OF_RESOURCE) { /* no room yet: progress makes some */
        (void) keel_host_progress();
        status = rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, text, strlen(text), 0,
                                      MCA_BTL_NO_ORDER, 0, TEXT_TAG, NULL);
    }
    check(status, "send", "");
}

static void run(char *text)
{
    char reason[256] = "";
    bool heard = false;
    opal_proc_t *procs[RANKS] = {&host.procs[0], &host.procs[1]};
    size_t count;
    check(keel_host_open(&host_ops, &host, NULL, reason, sizeof(reason)), "open", reason);
    swap_cards();
    check(keel_host_add_procs(procs, RANKS, reason, sizeof(reason)), "add", reason);
    const struct keel_rail *rail = keel_host_rails(procs[1 - host.rank], &count);
    rail->btl->btl_register(rail->btl, TEXT_TAG, text_arrived, &heard);
    meet(); /* nobody sends before the other one can receive */
    if (host.rank == 0) {
        send_text(rail, text);
    }
    time_t end = time(NULL) + SECONDS;
    while (host.rank == 1 && !heard) {
        (void) keel_host_progress();
        check(time(NULL) > end ? OPAL_ERR_TIMEOUT : OPAL_SUCCESS, "hear", "");
    }
    meet(); /* nor closes while the other one may need it */
    check(keel_host_close(), "close", "");
}

int main(int argc, char **argv)
{
    static char greeting[] = "hello";
    int pipes[RANKS];
    strcpy(host.dir, "/tmp/own-host-XXXXXX");
    if (sodium_init() < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pipes) != 0 ||
        !mkdtemp(host.dir)) {
        perror("own_host");
        return 1;
    }
    randombytes_buf(host.secret, sizeof(host.secret));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        host.procs[rank] = (opal_proc_t){
            .proc_name = {.jobid = 1, .vpid = rank}, .local_rank = rank, .hostname = "here"};
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (fork() == 0) {
            host.rank = rank;
            host.pipe = pipes[rank];
            close(pipes[1 - rank]);
            run(argc > 1 ? argv[1] : greeting);
            return 0;
        }
    }
    close(pipes[0]);
    close(pipes[1]);
    bool good = true;
    for (int status; wait(&status) > 0;) {
        good &= status == 0;
    }
    rmdir(host.dir);
    return good ? 0 : 1;
}
