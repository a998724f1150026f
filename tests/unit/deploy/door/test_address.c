/*
 * Addresses: which are read and as what, which are refused and in which words, and that a socket
 * file is taken over only where nobody listens.
 */
#include "deploy/door/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#define FORM                                                                                    \
    " is no address; write PORT, HOST:PORT or [HOST]:PORT with an IP address or localhost, or " \
    "unix:PATH"
#define REACHED                                                                                 \
    " can be reached from other machines: give a certificate and its key with --tls CERT,KEY, " \
    "or listen at 127.0.0.1"

static void good_ones_are_read(void **state)
{
    static const struct {
        const char *text;
        bool has_tls;
    } good[] = {{"0", false},
                {"30080", false},
                {"127.0.0.1:0", false},
                {"127.8.8.8:65535", false},
                {"localhost:30080", false},
                {"[::1]:30080", false},
                {"0.0.0.0:30080", true},
                {"[::]:443", true},
                {"192.0.2.7:443", true},
                {"unix:/tmp/it", false}};
    char words[TR_DOOR_WORDS_BYTES];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_int_equal(tr_door_address_check(good[i].text, good[i].has_tls, words), 0);
    }
}

static void bad_ones_are_told(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } bad[] = {{"", FORM},
               {":30080", FORM},
               {"65536", FORM},
               {"123456", FORM},
               {"-1", FORM},
               {"127.0.0.1", FORM},
               {"127.0.0.1:", FORM},
               {"127.0.0.1:80x", FORM},
               {"127.0.0.1.1:80", FORM},
               {"example.org:80", FORM},
               {"::1:80", FORM},
               {"[127.0.0.1]:80", FORM},
               {"[]:80", FORM},
               {"[::1]", FORM},
               {"0.0.0.0:30080", REACHED},
               {"[::]:30080", REACHED},
               {"128.0.0.1:1", REACHED},
               {"unix:", " has no path, or one of more than 107 bytes"}};
    char words[TR_DOOR_WORDS_BYTES];
    char expected[TR_DOOR_WORDS_BYTES];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(tr_door_address_check(bad[i].text, false, words), TR_INVALID);
        (void)snprintf(expected, sizeof expected, "'%s'%s", bad[i].text, bad[i].why);
        assert_string_equal(words, expected);
    }
}

static int listen_at(const char *text, char *words, int *listener)
{
    struct tri_door_address address;
    assert_int_equal(tri_door_address_read(text, false, &address, words), 0);
    return tri_door_address_listen(&address, listener, words);
}

static void a_port_is_chosen_and_told(void **state)
{
    char words[TR_DOOR_WORDS_BYTES];
    char text[TR_DOOR_ADDRESS_BYTES_MAX];
    char again[TR_DOOR_ADDRESS_BYTES_MAX];
    int listener;
    int other;
    (void)state;
    assert_int_equal(listen_at("0", words, &listener), 0);
    tri_door_address_print(listener, text);
    assert_memory_equal(text, "127.0.0.1:", strlen("127.0.0.1:"));
    assert_string_not_equal(text, "127.0.0.1:0");
    assert_int_equal(listen_at(text, words, &other), TR_SYSTEM);
    assert_string_equal(words, "Address already in use");
    (void)close(listener);
    assert_int_equal(listen_at(text, words, &listener), 0);
    tri_door_address_print(listener, again);
    assert_string_equal(again, text);
    (void)close(listener);
}

static void a_socket_file_is_its_owners(void **state)
{
    char folder[] = "/tmp/troupe-test-XXXXXX";
    char address[64];
    char words[TR_DOOR_WORDS_BYTES];
    struct stat status;
    int listener;
    int other;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address, sizeof address, "unix:%s/it", folder);
    assert_int_equal(listen_at(address, words, &listener), 0);
    assert_int_equal(stat(address + strlen("unix:"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(listen_at(address, words, &other), TR_SYSTEM); /* somebody listens */
    (void)close(listener);
    assert_int_equal(listen_at(address, words, &listener), 0); /* left over */
    (void)close(listener);
    assert_int_equal(folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_are_read),
        cmocka_unit_test(bad_ones_are_told),
        cmocka_unit_test(a_port_is_chosen_and_told),
        cmocka_unit_test(a_socket_file_is_its_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
