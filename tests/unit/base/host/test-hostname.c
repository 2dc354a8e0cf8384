#include <config.h>

#include <base/host/hostname.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

START_TEST(test_short_names_mean_the_same)
{
    ck_assert(host_same("n1", "n1"));
    ck_assert(host_same("n1", "N1"));
    ck_assert(host_same("n1", "n1.cluster"));
    ck_assert(host_same("n1.cluster", "n1"));
    ck_assert(host_same("n1.cluster", "n1.cluster"));
    ck_assert(!host_same("n1", "n10"));
    ck_assert(!host_same("n1.a", "n1.b"));
    ck_assert(!host_same("n1.a", "n1.a.b"));
    ck_assert(!host_same("10.0.0", "10.0.0.1"));
    ck_assert(!host_same("", ".a"));
    ck_assert(!host_same("n1", ""));
}
END_TEST

START_TEST(test_this_machine_is_local)
{
    char name[256], longer[300];
    host_name(name, sizeof(name));
    snprintf(longer, sizeof(longer), "%sx", name);
    ck_assert(host_is_local(name, name));
    ck_assert(host_is_local("localhost", name) && host_is_local("127.0.0.1", name) &&
              host_is_local("[::1]", name));
    ck_assert(!host_is_local(longer, name) && !host_is_local("nowhere.invalid", name));
}
END_TEST

UNIT_MAIN("host")
