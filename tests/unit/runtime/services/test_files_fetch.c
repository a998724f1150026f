/*
 * Downloads that end while nobody takes them.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/services/files_fetch.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

/* Their addresses take more than a page. */
#define FETCHES 600

/* Each has a file, and beside it a socket. */
static void allow_files(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Takes a download, waiting for one where none has ended. */
static struct tri_fetch *next_of(struct tri_fetches *fetches)
{
    struct pollfd one = {.fd = tri_fetches_fd(fetches), .events = POLLIN};
    struct tri_fetch *fetch;
    while ((fetch = tri_fetches_next(fetches)) == NULL) {
        assert_int_equal(poll(&one, 1, 60000), 1);
    }
    return fetch;
}

static void many_may_end_while_nobody_takes_them(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe_fetch_XXXXXX";
    atomic_bool is_stopping = false;
    struct tri_blobs *blobs;
    struct tri_fetches *fetches;
    allow_files();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(tri_blobs_open(folder, &is_stopping, &blobs), 0);
    assert_int_equal(tri_fetches_new(blobs, &fetches), 0);
    /* Fails but for a pipe, which an unprivileged user with many of them gets as small as this. */
    (void)fcntl(tri_fetches_fd(fetches), F_SETPIPE_SZ, getpagesize());
    bool is_seen[FETCHES] = {false};
    for (uint64_t i = 0; i < FETCHES; i++) {
        struct tri_caller caller = {.ref = {.key = {1, i}}};
        assert_int_equal(tri_fetch_begin(fetches, tr_text_of("http://127.0.0.1:1/none"), &caller),
                         0);
    }
    for (size_t i = 0; i < FETCHES; i++) {
        struct tri_fetch *fetch = next_of(fetches);
        uint64_t serial = fetch->caller.ref.key.serial;
        assert_true(serial < FETCHES && !is_seen[serial]);
        assert_int_equal(fetch->error, TR_SYSTEM);
        is_seen[serial] = true;
        tri_blob_give_up(blobs, fetch->name);
        tri_fetch_free(fetch);
    }
    assert_null(tri_fetches_next(fetches));
    tri_fetches_free(fetches);
    tri_blobs_close(blobs);
    (void)folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_may_end_while_nobody_takes_them),
    };
    return cmocka_run_group_tests_name("files_fetch", tests, NULL, NULL);
}
