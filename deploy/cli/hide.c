/*
 * Hiding passwords from ps; see the header.
 */
#include "deploy/cli/hide.h"

#include <string.h>

#include "runtime/journal/locator.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* The locator that the word is, or that an option has as its value; NULL: none. */
static char *find_locator(char *word)
{
    static const char *const schemes[] = {"postgresql://", "postgres://"};
    for (size_t i = 0; i < TR_COUNT_OF(schemes); i++) {
        char *at = strstr(word, schemes[i]);
        if (at != NULL && (at == word || at[-1] == '=')) {
            return at;
        }
    }
    return NULL;
}

/* What is shown is never longer, and the rest becomes empty words. */
static int hide(char *locator, char **word)
{
    size_t size = strlen(locator);
    char *shown = tr_alloc(size + 1);
    char *copy = tr_text_copy(tr_text_of(*word));
    if (shown == NULL || copy == NULL) {
        tr_free(shown);
        tr_free(copy);
        return TR_MEMORY;
    }
    tri_locator_show(locator, shown, size + 1);
    memset(locator + strlen(shown), 0, size - strlen(shown));
    memcpy(locator, shown, strlen(shown));
    tr_free(shown);
    *word = copy;
    return 0;
}

int tr_arguments_hide(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *locator = find_locator(argv[i]);
        int error = locator != NULL ? hide(locator, &argv[i]) : 0;
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
