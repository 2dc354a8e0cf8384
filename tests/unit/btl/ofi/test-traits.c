/* What is known about libfabric's providers, by their names. */
#include <config.h>

#include <btl/ofi/provider/traits.h>
#include <string.h>
#include <tests/lib/unit.h>

START_TEST(those_that_are_not_known_are_software)
{
    static const char *const names[] = {"tcp",         "sm2",         "net",   "psm3",       "",
                                        "tcp;ofi_rxm", "udp;ofi_rxd", "verbs", "of-tomorrow"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        ck_assert_msg(!ofi_traits_of(names[i])->is_hardware, "%s", names[i]);
    }
}
END_TEST

START_TEST(hardware_is_known_by_its_whole_name)
{
    ck_assert(ofi_traits_of("verbs;ofi_rxm")->is_hardware);
    ck_assert(ofi_traits_of("cxi")->is_hardware);
    ck_assert(!ofi_traits_of("cxi2")->is_hardware);
}
END_TEST

START_TEST(a_layer_is_known_over_any_provider)
{
    ck_assert_uint_gt(ofi_traits_of("verbs;ofi_rxd")->window, 0);
    ck_assert_uint_gt(ofi_traits_of("ofi_rxd")->window, 0);
    ck_assert_uint_eq(ofi_traits_of("verbs;ofi_rxm")->window, 0);
}
END_TEST

UNIT_MAIN("ofi-traits")
