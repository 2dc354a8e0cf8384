/* PMI-1's spawn, line by line. */
#include <config.h>

#include <base/data/strings.h>
#include <launcher/pmi1/pmi1_spawn.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct pmi1_spawn spawn;

/* Lines with ';' between them. */
static int take(const char *lines)
{
    char text[512], *rest;
    int status = ORTE_SUCCESS;
    snprintf(text, sizeof(text), "%s", lines);
    for (char *line = strtok_r(text, ";", &rest); line && status == ORTE_SUCCESS;
         line = strtok_r(NULL, ";", &rest)) {
        status = pmi1_spawn_line(&spawn, line);
    }
    return status;
}

static int block(const char *lines)
{
    ck_assert_int_eq(pmi1_spawn_begin(&spawn), ORTE_SUCCESS);
    return take(lines);
}

START_TEST(test_two_programs)
{
    ck_assert_int_eq(
        block("nprocs=2;execname=/a b;totspawns=2;spawnssofar=1;arg1=one;arg2=t=w o;"
              "argcnt=2;preput_num=1;preput_key_0=PORT;preput_val_0=x=1 y;info_num=2;"
              "info_key_0=wdir;info_val_0=/tmp;info_key_1=npernode;info_val_1=3;endcmd"),
        ORTE_SUCCESS);
    ck_assert(!spawn.open && !pmi1_spawn_is_whole(&spawn));
    ck_assert_int_eq(block("nprocs=1;execname=c;totspawns=2;spawnssofar=2;argcnt=0;preput_num=1;"
                           "preput_key_0=PORT;preput_val_0=x=1 y;info_num=3;info_key_0=path;"
                           "info_val_0=/p:/q;info_key_1=unheard;info_val_1=of;info_key_2=pernode;"
                           "info_val_2=true;endcmd"),
                     ORTE_SUCCESS);
    ck_assert(!spawn.open && pmi1_spawn_is_whole(&spawn));
    ck_assert_uint_eq(pmi1_spawn_ranks(&spawn), 3);
    ck_assert_ptr_null(pmi1_spawn_lacks(&spawn));
    ck_assert_uint_eq(spawn.count, 2);
    const struct spawn_wish *wish = spawn.wishes;
    ck_assert_uint_eq(strings_count(wish[0].app.argv), 3);
    ck_assert_str_eq(wish[0].app.argv[0], "/a b");
    ck_assert_str_eq(wish[0].app.argv[2], "t=w o");
    ck_assert_str_eq(wish[0].app.wdir, "/tmp");
    ck_assert_str_eq(strings_value(wish[0].info, "ppr"), "3:node");
    ck_assert_str_eq(wish[1].app.path, "/p:/q");
    ck_assert_uint_eq(strings_count(wish[1].info), 1);
    ck_assert_str_eq(wish[1].info[0], "ppr=1:node");
    ck_assert_uint_eq(strings_count(spawn.puts), 1);
    ck_assert_str_eq(spawn.puts[0], "PORT=x=1 y");
    pmi1_spawn_fini(&spawn);
    ck_assert_uint_eq(spawn.count, 0);
}
END_TEST

START_TEST(test_places)
{
    static const char *const cases[][2] = {
        {"host", "host=V"},       {"hostfile", "hostfile=V"},        {"map_by", "map_by=V"},
        {"ppn", "ppr=V:node"},    {"npernode", "ppr=V:node"},        {"ppr", "ppr=V"},
        {"bind_to", "bind_to=V"}, {"add-hostfile", "add-hostfile=V"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char lines[128];
        snprintf(lines, sizeof(lines), "info_key_0=%s;info_val_0=V", cases[i][0]);
        ck_assert_int_eq(block(lines), ORTE_SUCCESS);
        ck_assert_str_eq(spawn.wishes[0].info[0], cases[i][1]);
        pmi1_spawn_fini(&spawn);
    }
}
END_TEST

START_TEST(test_what_lacks_something)
{
    static const char *const lacking[][2] = {
        {"nprocs=2;endcmd", "execname"},
        {"execname=x;endcmd", "nprocs"},
        {"nprocs=0;execname=x;endcmd", "nprocs"},
        {"nprocs=-1;execname=x;endcmd", "nprocs"},
    };
    for (size_t i = 0; i < sizeof(lacking) / sizeof(*lacking); i++) {
        ck_assert_int_eq(block("nprocs=1;execname=y;totspawns=2;spawnssofar=1;endcmd"),
                         ORTE_SUCCESS);
        ck_assert_ptr_null(pmi1_spawn_lacks(&spawn));
        ck_assert_int_eq(block(lacking[i][0]), ORTE_SUCCESS);
        ck_assert_str_eq(pmi1_spawn_lacks(&spawn), lacking[i][1]);
        pmi1_spawn_fini(&spawn);
    }
    static const char *const wrong[] = {"nprocs=x",     "totspawns=99999999999",
                                        "spawnssofar=", "preput_val_0=x",
                                        "info_val_0=x", "info_key_0=a=b"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ck_assert_msg(block(wrong[i]) == ORTE_ERR_BAD_PARAM, "%s", wrong[i]);
        pmi1_spawn_fini(&spawn);
    }
}
END_TEST

START_TEST(test_pairs)
{
    ck_assert_int_eq(block("nprocs=1;execname=c;preput_key_0=A;info_key_0=host;preput_val_0=1;"
                           "info_val_0=n1;info_key_1=path;info_val_1=/p"),
                     ORTE_SUCCESS);
    ck_assert_str_eq(spawn.puts[0], "A=1");
    ck_assert_str_eq(strings_value(spawn.wishes[0].info, "host"), "n1");
    ck_assert_int_eq(take("preput_key_1=A;preput_val_1=222"), ORTE_SUCCESS);
    size_t bytes = spawn.bytes;
    uint32_t items = spawn.items;
    for (int i = 0; i < 2 * PMI1_SPAWN_ITEMS_MAX; i++) { /* one pair, no more of it */
        ck_assert_int_eq(pmi1_spawn_line(&spawn, "preput_val_1=222"), ORTE_SUCCESS);
    }
    ck_assert_uint_eq(spawn.bytes, bytes);
    ck_assert_uint_eq(spawn.items, items);
    ck_assert_uint_eq(strings_count(spawn.puts), 1);
    pmi1_spawn_fini(&spawn);
    ck_assert_int_eq(block("nprocs=1;preput_key_0=A;info_val_0=n1"), ORTE_ERR_BAD_PARAM);
    pmi1_spawn_fini(&spawn);
    ck_assert_int_eq(block("nprocs=1;info_key_0=host;preput_val_0=n1"), ORTE_ERR_BAD_PARAM);
    pmi1_spawn_fini(&spawn);
}
END_TEST

START_TEST(test_too_much)
{
    int status = block("nprocs=1"), count = 0;
    while (status == ORTE_SUCCESS) {
        ck_assert_int_le(++count, PMI1_SPAWN_ITEMS_MAX);
        status = pmi1_spawn_line(&spawn, "arg1=x");
    }
    ck_assert_int_eq(status, ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(count, PMI1_SPAWN_ITEMS_MAX);
    pmi1_spawn_fini(&spawn);
    ck_assert_int_eq(block("nprocs=1"), ORTE_SUCCESS);
    for (count = 0; count < 2 * PMI1_SPAWN_ITEMS_MAX; count++) { /* one name, no more of it */
        ck_assert_int_eq(pmi1_spawn_line(&spawn, "execname=again"), ORTE_SUCCESS);
    }
    pmi1_spawn_fini(&spawn);
    for (status = ORTE_SUCCESS, count = 0; status == ORTE_SUCCESS; count++) {
        status = pmi1_spawn_begin(&spawn);
    }
    ck_assert_int_eq(count, 1025);
    pmi1_spawn_fini(&spawn);
}
END_TEST

UNIT_MAIN("pmi1_spawn")
