/*
 * Devices that wait for somebody to say whose they are: their codes, their time, and who asks too
 * often.
 */
#include "deploy/api/device.h"

#include <string.h>

#include "tests/support/test.h"

static const uint8_t key[TR_API_TOKEN_KEY_BYTES] = {7};
static const struct tr_api_client client = {.id = "ci"};
static const struct tr_api_clients clients = {.items = &client, .count = 1, .key = key};
static struct tr_devices devices;

static int begin(void **state)
{
    (void)state;
    devices = (struct tr_devices){.count = 0};
    return 0;
}

static const struct tr_device *begin_at(uint64_t now_ms)
{
    return tr_devices_begin(&devices, &clients, tr_text_of("flytectl"), 5, now_ms);
}

static enum tr_device_answer ask(const char *code, const char *id, uint64_t now_ms)
{
    const struct tr_api_client *found = NULL;
    enum tr_device_answer answer =
        tr_devices_ask(&devices, tr_text_of(code), tr_text_of(id), now_ms, &found);
    assert_ptr_equal(found, answer == TR_DEVICE_IS ? &client : NULL);
    return answer;
}

static void test_a_device_is_whose_somebody_says(void **state)
{
    (void)state;
    const struct tr_device device = *begin_at(1000);
    const struct tr_device other = *begin_at(1000);
    assert_int_equal(strlen(device.code), 64);
    assert_int_equal(strlen(device.user_code), 9);
    assert_string_not_equal(device.code, other.code);
    assert_string_not_equal(device.user_code, other.user_code);
    assert_int_equal(ask(device.code, "flytectl", 2000), TR_DEVICE_PENDING);
    assert_true(tr_devices_approve(&devices, tr_text_of(device.user_code), &client, 3000));
    assert_int_equal(ask(other.code, "flytectl", 7000), TR_DEVICE_PENDING);
    assert_int_equal(ask(device.code, "another", 7000), TR_DEVICE_EXPIRED);
    assert_int_equal(ask(device.code, "flytectl", 7000), TR_DEVICE_IS);
    assert_int_equal(ask(device.code, "flytectl", 12000), TR_DEVICE_EXPIRED); /* once */
    assert_false(tr_devices_approve(&devices, tr_text_of(device.user_code), &client, 13000));
}

static void test_codes_are_typed_in_any_way(void **state)
{
    (void)state;
    char typed[3][16];
    const struct tr_device device = *begin_at(1000);
    for (size_t i = 0, at = 0; i < strlen(device.user_code); i++) {
        typed[0][i] = (char)(device.user_code[i] | (device.user_code[i] == '-' ? 0 : 0x20));
        if (device.user_code[i] != '-') {
            typed[1][at++] = device.user_code[i];
        }
        typed[0][i + 1] = typed[1][at] = '\0';
    }
    static const char *const wrong[] = {"", "-", "ABCD", "ABCD-EFGH-I", "\xff"};
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        assert_false(tr_devices_approve(&devices, tr_text_of(wrong[i]), &client, 2000));
    }
    struct tr_text part = {.data = device.user_code, .size = 8};
    assert_false(tr_devices_approve(&devices, part, &client, 2000));
    assert_true(tr_devices_approve(&devices, tr_text_of(typed[0]), &client, 2000));
    const struct tr_device second = *begin_at(1000);
    memcpy(typed[2], second.user_code, 4);
    memcpy(typed[2] + 4, second.user_code + 5, 5);
    assert_true(tr_devices_approve(&devices, tr_text_of(typed[2]), &client, 2000));
}

static void test_who_asks_too_often_is_to_ask_less(void **state)
{
    (void)state;
    const struct tr_device device = *begin_at(1000);
    assert_int_equal(ask(device.code, "flytectl", 1000), TR_DEVICE_PENDING);
    assert_int_equal(ask(device.code, "flytectl", 5000), TR_DEVICE_PENDING); /* nearly */
    assert_int_equal(ask(device.code, "flytectl", 8999), TR_DEVICE_TOO_FAST);
    assert_int_equal(ask(device.code, "flytectl", 14000), TR_DEVICE_TOO_FAST); /* 10 s by now */
    assert_int_equal(ask(device.code, "flytectl", 29000), TR_DEVICE_PENDING);
}

static void test_a_time_passes(void **state)
{
    (void)state;
    const struct tr_device device = *begin_at(1000);
    uint64_t end_ms = 1000 + TR_DEVICE_S * 1000ULL;
    assert_int_equal(ask(device.code, "flytectl", end_ms - 1), TR_DEVICE_PENDING);
    assert_int_equal(ask(device.code, "flytectl", end_ms), TR_DEVICE_EXPIRED);
    assert_false(tr_devices_approve(&devices, tr_text_of(device.user_code), &client, end_ms));
}

static void test_so_many_may_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_DEVICES_MAX; i++) {
        assert_non_null(begin_at(1000));
    }
    assert_null(begin_at(2000));
    assert_non_null(begin_at(1000 + TR_DEVICE_S * 1000ULL)); /* in the place of what is over */
    char id[TR_API_CLIENT_BYTES_MAX + 2];
    memset(id, 'a', sizeof id);
    assert_null(tr_devices_begin(&devices, &clients, (struct tr_text){id, sizeof id - 1}, 5,
                                 2000 + TR_DEVICE_S * 1000ULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_device_is_whose_somebody_says, begin),
        cmocka_unit_test_setup(test_codes_are_typed_in_any_way, begin),
        cmocka_unit_test_setup(test_who_asks_too_often_is_to_ask_less, begin),
        cmocka_unit_test_setup(test_a_time_passes, begin),
        cmocka_unit_test_setup(test_so_many_may_wait, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
