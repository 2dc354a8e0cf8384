#include <config.h>

#include "pmix-server.h"
#include <base/data/list.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { ENTRIES_MAX = 64, KEY_TEXT = 64 };

struct entry {
    uint32_t rank;
    char key[KEY_TEXT];
    void *data;
    size_t size;
    bool committed, replaced, gone;
};

struct pmix_ticket {
    struct list link; /* in asked or silent */
    bool is_fence, wanted, answered;
    unsigned refs;
    uint32_t rank; /* whose data */
    char key[KEY_TEXT];
    pmix_answer_fn *answer;
    void *arg;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool ending, gone;
    uint32_t ranks;
    struct entry entries[ENTRIES_MAX];
    size_t entry_count;
    struct list asked, silent;
    unsigned arrived, fences, collecting, gets;
    unsigned failing_fence; /* number; UINT32_MAX: none */
    int fence_status;
    enum server_missing missing;
    void (*lost[SERVER_RANKS_MAX])(void *arg);
    void *lost_arg[SERVER_RANKS_MAX];
} server = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .wake = PTHREAD_COND_INITIALIZER,
            .failing_fence = UINT32_MAX};

static _Thread_local uint32_t me;

static struct entry *find(uint32_t rank, const char *key)
{
    struct entry *found = NULL;
    for (size_t i = 0; i < server.entry_count; i++) {
        struct entry *entry = &server.entries[i];
        if (entry->rank == rank && strcmp(entry->key, key) == 0 && (!found || entry->replaced)) {
            found = entry;
        }
    }
    return found;
}

/* --- the library's thread --- */

static void answer_locked(struct pmix_ticket *ticket, int status, const void *data, size_t size)
{
    struct pmix_answer answer = {status, "the test's word", data, size};
    ticket->answered = true;
    if (ticket->wanted) {
        ticket->answer(ticket->arg, &answer);
    }
    if (--ticket->refs == 0) {
        free(ticket);
    }
}

static void answer_get_locked(struct pmix_ticket *ticket)
{
    const struct entry *entry = find(ticket->rank, ticket->key);
    if (entry && !entry->gone && (entry->committed || entry->replaced)) {
        answer_locked(ticket, ORTE_SUCCESS, entry->data, entry->size);
    } else if (server.missing == MISSING_SILENT) {
        list_append(&server.silent, &ticket->link);
    } else {
        answer_locked(ticket,
                      server.missing == MISSING_TIMEOUT ? ORTE_ERR_TIMEOUT : ORTE_ERR_NOT_FOUND,
                      NULL, 0);
    }
}

/* Fences stay in asked until all ranks have come. */
static struct pmix_ticket *next_locked(void)
{
    struct pmix_ticket *ticket;
    list_for_each (ticket, &server.asked, struct pmix_ticket, link) {
        if (!ticket->is_fence) {
            list_remove(&ticket->link);
            return ticket;
        }
    }
    return NULL;
}

static void end_fence_locked(void)
{
    struct pmix_ticket *ticket;
    int status = server.fences >= server.failing_fence ? server.fence_status : ORTE_SUCCESS;
    server.arrived = 0;
    server.fences++;
    list_for_each (ticket, &server.asked, struct pmix_ticket, link) {
        if (ticket->is_fence) {
            list_remove(&ticket->link);
            if (status == ORTE_ERROR) {
                list_append(&server.silent, &ticket->link);
            } else {
                answer_locked(ticket, status, NULL, 0);
            }
        }
    }
}

static void *serve(void *arg)
{
    (void) arg;
    pthread_mutex_lock(&server.lock);
    while (!server.ending) {
        struct pmix_ticket *ticket = next_locked();
        if (ticket) {
            answer_get_locked(ticket);
        } else if (server.arrived == server.ranks) {
            end_fence_locked();
        } else {
            pthread_cond_wait(&server.wake, &server.lock);
        }
    }
    pthread_mutex_unlock(&server.lock);
    return NULL;
}

/* --- the calls --- */

static struct entry *add_entry(uint32_t rank, const char *key, const void *data, size_t size)
{
    ck_assert_uint_lt(server.entry_count, ENTRIES_MAX);
    ck_assert_uint_lt(strlen(key), KEY_TEXT);
    struct entry *entry = &server.entries[server.entry_count++];
    *entry = (struct entry){.rank = rank, .size = size, .data = malloc(size + 1)};
    strcpy(entry->key, key);
    if (size > 0) {
        memcpy(entry->data, data, size);
    }
    return entry;
}

static int call_put(const char *key, const void *data, size_t size, bool local_only)
{
    (void) local_only;
    pthread_mutex_lock(&server.lock);
    const struct entry *known = find(me, key);
    ck_assert_msg(!known || known->replaced, "%s is put twice", key);
    (void) add_entry(me, key, data, size);
    pthread_mutex_unlock(&server.lock);
    return ORTE_SUCCESS;
}

static int call_commit(void)
{
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.entry_count; i++) {
        server.entries[i].committed = server.entries[i].committed || server.entries[i].rank == me;
    }
    pthread_mutex_unlock(&server.lock);
    return ORTE_SUCCESS;
}

static struct pmix_ticket *ask(pmix_answer_fn *answer, void *arg)
{
    struct pmix_ticket *ticket = calloc(1, sizeof(*ticket));
    ticket->refs = 2;
    ticket->wanted = true;
    ticket->answer = answer;
    ticket->arg = arg;
    list_init(&ticket->link);
    return ticket;
}

static int call_fence(bool collect, pmix_answer_fn *answer, void *arg, struct pmix_ticket **ticket)
{
    pthread_mutex_lock(&server.lock);
    bool gone = server.gone;
    if (!gone) {
        *ticket = ask(answer, arg);
        (*ticket)->is_fence = true;
        list_append(&server.asked, &(*ticket)->link);
        server.collecting += collect && server.arrived == 0;
        server.arrived++;
        pthread_cond_signal(&server.wake);
    }
    pthread_mutex_unlock(&server.lock);
    return gone ? ORTE_ERR_UNREACH : ORTE_SUCCESS;
}

static int call_get(uint32_t rank, const char *key, unsigned timeout_s, pmix_answer_fn *answer,
                    void *arg, struct pmix_ticket **ticket)
{
    (void) timeout_s;
    pthread_mutex_lock(&server.lock);
    *ticket = ask(answer, arg);
    (*ticket)->rank = rank;
    strcpy((*ticket)->key, key);
    list_append(&server.asked, &(*ticket)->link);
    server.gets++;
    pthread_cond_signal(&server.wake);
    pthread_mutex_unlock(&server.lock);
    return ORTE_SUCCESS;
}

static bool call_drop(struct pmix_ticket *ticket)
{
    pthread_mutex_lock(&server.lock);
    bool open = !ticket->answered;
    ticket->wanted = false;
    if (--ticket->refs == 0) {
        free(ticket);
    }
    pthread_mutex_unlock(&server.lock);
    return open;
}

static void call_watch(void (*lost)(void *arg), void *arg)
{
    pthread_mutex_lock(&server.lock);
    server.lost[me] = lost;
    server.lost_arg[me] = arg;
    pthread_mutex_unlock(&server.lock);
}

static void call_clean(const char *folder)
{
    (void) folder;
}

static void call_abort(int status, const char *reason)
{
    (void) status;
    (void) reason;
}

static void call_leave(void)
{
}

const struct pmix_calls server_calls = {
    .put = call_put,
    .commit = call_commit,
    .fence = call_fence,
    .get = call_get,
    .drop = call_drop,
    .watch = call_watch,
    .clean = call_clean,
    .abort = call_abort,
    .leave = call_leave,
};

/* --- for the test --- */

void server_begin(uint32_t ranks)
{
    ck_assert_uint_le(ranks, SERVER_RANKS_MAX);
    server.ranks = ranks;
    list_init(&server.asked);
    list_init(&server.silent);
    ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void free_tickets(struct list *tickets)
{
    for (struct list *link; (link = list_pop(tickets));) {
        struct pmix_ticket *ticket = container_of(link, struct pmix_ticket, link);
        ck_assert_uint_eq(ticket->refs, 1); /* whoever asked has dropped it */
        free(ticket);
    }
}

void server_end(void)
{
    pthread_mutex_lock(&server.lock);
    server.ending = true;
    pthread_cond_signal(&server.wake);
    pthread_mutex_unlock(&server.lock);
    pthread_join(server.thread, NULL);
    free_tickets(&server.asked);
    free_tickets(&server.silent);
    for (size_t i = 0; i < server.entry_count; i++) {
        free(server.entries[i].data);
    }
}

void server_be(uint32_t rank)
{
    me = rank;
}

void server_set_missing(enum server_missing missing)
{
    pthread_mutex_lock(&server.lock);
    server.missing = missing;
    pthread_mutex_unlock(&server.lock);
}

void server_fail_fence(unsigned number, int status)
{
    pthread_mutex_lock(&server.lock);
    server.failing_fence = number;
    server.fence_status = status;
    pthread_mutex_unlock(&server.lock);
}

void server_replace(uint32_t rank, const char *key, const void *data, size_t size)
{
    pthread_mutex_lock(&server.lock);
    struct entry *entry = add_entry(rank, key, data, size);
    entry->replaced = true;
    entry->gone = !data;
    pthread_mutex_unlock(&server.lock);
}

void server_lose(void)
{
    struct pmix_ticket *ticket;
    pthread_mutex_lock(&server.lock);
    server.gone = true;
    list_for_each (ticket, &server.asked, struct pmix_ticket, link) {
        list_remove(&ticket->link);
        answer_locked(ticket, ORTE_ERR_UNREACH, NULL, 0);
    }
    for (uint32_t rank = 0; rank < server.ranks; rank++) {
        if (server.lost[rank]) {
            server.lost[rank](server.lost_arg[rank]);
        }
    }
    pthread_mutex_unlock(&server.lock);
}

static unsigned read_number(const unsigned *number)
{
    pthread_mutex_lock(&server.lock);
    unsigned value = *number;
    pthread_mutex_unlock(&server.lock);
    return value;
}

unsigned server_fences(void)
{
    return read_number(&server.fences);
}

unsigned server_collecting(void)
{
    return read_number(&server.collecting);
}

unsigned server_gets(void)
{
    return read_number(&server.gets);
}

const void *server_find(uint32_t rank, const char *key, size_t *size)
{
    pthread_mutex_lock(&server.lock);
    const struct entry *entry = find(rank, key);
    pthread_mutex_unlock(&server.lock);
    *size = entry ? entry->size : 0;
    return entry ? entry->data : NULL;
}
