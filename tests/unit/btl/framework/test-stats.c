/* Counters: of the module and of a peer, with the tap and without, for the log and by the call. */
#include <tests/lib/unit.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 64, TAG = 5, NOBODYS_TAG = 6 };

static opal_proc_t proc = {.proc_name = {.jobid = 1, .vpid = 0}, .hostname = "here"};

static const opal_proc_t *me(void *host)
{
    (void) host;
    return &proc;
}

static const struct keel_host_ops ops = {.me = me};
static mca_btl_base_module_t *self;
static struct mca_btl_base_endpoint_t *endpoint;

static void add(void)
{
    opal_proc_t *mine = &proc;
    ck_assert_int_eq(self->btl_add_procs(self, 1, &mine, &endpoint, NULL), OPAL_SUCCESS);
}

static void end(void)
{
    opal_proc_t *mine = &proc;
    ck_assert_int_eq(self->btl_del_procs(self, 1, &mine, &endpoint), OPAL_SUCCESS);
}

static void receive(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
}

static void open_self(const char *counts)
{
    char reason[200] = "";
    size_t count;
    ck_assert_int_eq(param_override("btl", "self"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_base_stats", counts), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("btl_self_free_list_max", "1"), ORTE_SUCCESS);
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    self = btl_modules(&count)[0];
    self->btl_register(self, TAG, receive, NULL);
    add();
}

/* UINT64_MAX: there is none of this name. */
static uint64_t counter(struct mca_btl_base_endpoint_t *of, const char *name)
{
    struct keel_btl_stat stats[ROOM];
    size_t count = keel_btl_stats(self, of, stats, ROOM);
    uint64_t value = UINT64_MAX;
    ck_assert_uint_le(count, ROOM);
    for (size_t i = 0; i < count; i++) {
        ck_assert(*stats[i].unit && *stats[i].help);
        if (strcmp(stats[i].name, name) == 0) {
            ck_assert_uint_eq(value, UINT64_MAX); /* each name once */
            value = stats[i].value;
        }
    }
    return value;
}

static int sendi(mca_btl_base_tag_t tag, size_t size)
{
    static char header[4096];
    return self->btl_sendi(self, endpoint, NULL, header, size, 0, MCA_BTL_NO_ORDER, 0, tag, NULL);
}

static void send_one(size_t size)
{
    mca_btl_base_descriptor_t *descriptor =
        self->btl_alloc(self, endpoint, MCA_BTL_NO_ORDER, size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    ck_assert_ptr_nonnull(descriptor);
    ck_assert_int_ge(self->btl_send(self, endpoint, descriptor, TAG), 0);
}

static void access_memory(void)
{
    static uint64_t words[4];
    mca_btl_base_registration_handle_t *handle =
        self->btl_register_mem(self, endpoint, words, sizeof(words), MCA_BTL_REG_FLAG_ACCESS_ANY);
    uint64_t address = (uintptr_t) words;
    ck_assert_ptr_nonnull(handle);
    ck_assert_int_eq(self->btl_put(self, endpoint, words, address + 16, handle, handle, 16, 0,
                                   MCA_BTL_NO_ORDER, NULL, NULL, NULL),
                     OPAL_SUCCESS);
    ck_assert_int_eq(self->btl_get(self, endpoint, words, address + 8, handle, handle, 8, 0,
                                   MCA_BTL_NO_ORDER, NULL, NULL, NULL),
                     OPAL_SUCCESS);
    ck_assert_int_ge(self->btl_atomic_op(self, endpoint, address, handle, MCA_BTL_ATOMIC_ADD, 1, 0,
                                         MCA_BTL_NO_ORDER, NULL, NULL, NULL),
                     0);
    ck_assert_int_lt(self->btl_atomic_op(self, endpoint, address + 1, handle, MCA_BTL_ATOMIC_ADD, 1,
                                         0, MCA_BTL_NO_ORDER, NULL, NULL, NULL),
                     0);
    self->btl_deregister_mem(self, handle);
}

START_TEST(the_tap_counts_for_module_and_peer)
{
    open_self("1");
    ck_assert_int_eq(sendi(TAG, 100), OPAL_SUCCESS);
    send_one(1000);
    access_memory();
    mca_btl_base_descriptor_t *last =
        self->btl_alloc(self, endpoint, MCA_BTL_NO_ORDER, self->btl_max_send_size, 0);
    ck_assert_ptr_nonnull(last);
    ck_assert_ptr_null(
        self->btl_alloc(self, endpoint, MCA_BTL_NO_ORDER, self->btl_max_send_size, 0));
    self->btl_free(self, last);
    for (int i = 0; i < 2; i++) {
        struct mca_btl_base_endpoint_t *of = i == 0 ? NULL : endpoint;
        ck_assert_uint_eq(counter(of, "messages_sent"), 2);
        ck_assert_uint_eq(counter(of, "bytes_sent"), 1100);
        ck_assert_uint_eq(counter(of, "messages_received"), 2);
        ck_assert_uint_eq(counter(of, "bytes_received"), 1100);
        ck_assert_uint_eq(counter(of, "puts"), 1);
        ck_assert_uint_eq(counter(of, "put_bytes"), 16);
        ck_assert_uint_eq(counter(of, "gets"), 1);
        ck_assert_uint_eq(counter(of, "get_bytes"), 8);
        ck_assert_uint_eq(counter(of, "atomics"), 1);
        ck_assert_uint_eq(counter(of, "refused"), 1);
        ck_assert_uint_eq(counter(of, "errors"), 1);
    }
    end();
    add(); /* in the memory of the one that ended */
    ck_assert_uint_eq(counter(endpoint, "messages_sent"), 0);
    ck_assert_uint_eq(counter(NULL, "messages_sent"), 2);
    end();
    ck_assert_uint_eq(keel_btl_stats(self, endpoint, NULL, 0), 0);
    btl_close();
}
END_TEST

START_TEST(what_costs_nothing_is_counted_always)
{
    struct keel_btl_stat stats[2] = {{.name = NULL}};
    mca_btl_base_module_t foreign = {.btl_flags = 0};
    open_self("0");
    ck_assert_int_eq(sendi(NOBODYS_TAG, 8), OPAL_SUCCESS);
    ck_assert_uint_eq(counter(NULL, "dropped"), 1);
    ck_assert_uint_eq(counter(NULL, "failures"), 0);
    ck_assert_uint_eq(counter(NULL, "messages_sent"), UINT64_MAX);
    ck_assert_uint_eq(counter(endpoint, "messages_sent"), UINT64_MAX);
    ck_assert_uint_eq(keel_btl_stats(self, NULL, stats, 1), keel_btl_stats(self, NULL, NULL, 0));
    ck_assert_ptr_nonnull(stats[0].name);
    ck_assert_ptr_null(stats[1].name);
    ck_assert_uint_eq(keel_btl_stats(&foreign, NULL, stats, 2), 0);
    end();
    btl_close();
}
END_TEST

static char lines[4096];

static void note_line(void *arg, enum log_level level, const char *line)
{
    (void) arg, (void) level;
    size_t used = strlen(lines);
    snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
}

/* The module's and the layer's of two modules, each of which closes the channel. */
START_TEST(what_comes_for_a_layer_that_has_closed_is_no_news)
{
    enum { CHANNEL = 1, STRANGE = 2 };
    open_self("0");
    ck_assert_int_eq(btl_register_channel(self, CHANNEL, receive, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(btl_register_channel(self, CHANNEL, NULL, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(btl_register_channel(self, CHANNEL, NULL, NULL), OPAL_SUCCESS);
    lines[0] = '\0';
    log_set_sink(note_line, NULL);
    btl_deliver_on(self, endpoint, CHANNEL, 0, NULL, 0);
    ck_assert_str_eq(lines, "");
    ck_assert_uint_eq(counter(NULL, "dropped"), 1);
    btl_deliver_on(self, endpoint, STRANGE, 0, NULL, 0);
    ck_assert_ptr_nonnull(strstr(lines, "on channel 2, which nobody registered"));
    log_set_sink(NULL, NULL);
    end();
    btl_close();
}
END_TEST

START_TEST(dump_prints_what_is_not_0)
{
    open_self("1");
    ck_assert_int_eq(sendi(TAG, 100), OPAL_SUCCESS);
    log_set_sink(note_line, NULL);
    self->btl_dump(self, NULL, 0);
    ck_assert_ptr_nonnull(strstr(lines, "self: bytes_sent 100 bytes\n"));
    ck_assert_ptr_null(strstr(lines, "get_bytes"));
    self->btl_dump(self, endpoint, 0);
    ck_assert_ptr_nonnull(strstr(lines, "self to this peer: messages_sent 1 messages\n"));
    log_set_sink(NULL, NULL);
    end();
    btl_close();
}
END_TEST

UNIT_MAIN("stats")
