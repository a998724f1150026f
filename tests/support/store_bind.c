/*
 * A schema's name has the process and a number; the server outlives no run of the tests.
 */
#include "tests/support/store_bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/journal/store_folder.h"
#include "runtime/store_care.h"

static const char *server_locator(void)
{
    const char *locator = getenv("TROUPE_TEST_POSTGRES");
    return locator != NULL && *locator != '\0' ? locator : NULL;
}

void store_bind(const char *folder, const struct tr_schema *const *records, size_t record_count)
{
    static unsigned count;
    bool was_made;
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = records,
                                        .record_count = record_count};
    char locator[TRI_STORE_LOCATOR_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    if (server_locator() == NULL) {
        return;
    }
    (void)snprintf(locator, sizeof locator, "%s&options=-csearch_path%%3Dtest_%d_%u",
                   server_locator(), (int)getpid(), ++count);
    int error = tri_store_folder_make(folder, explain);
    if (error == 0) {
        error = tri_store_folder_bind(folder, locator, explain);
    }
    if (error == 0) {
        error = tri_store_init(&options, explain, &was_made);
    }
    if (error != 0) {
        fprintf(stderr, "store_bind: %s: %s\n", folder, explain);
        exit(1);
    }
}

bool store_is_elsewhere(const char *test, const char *reason)
{
    if (server_locator() == NULL) {
        return false;
    }
    const char *path = getenv("TROUPE_TEST_SKIPPED");
    FILE *skipped = path != NULL ? fopen(path, "ae") : NULL;
    if (skipped != NULL) {
        fprintf(skipped, "%s: %s\n", test, reason);
        (void)fclose(skipped);
    }
    printf("skipped: %s\n", reason);
    return true;
}
