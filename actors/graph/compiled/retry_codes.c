/*
 * Patterns of codes, and the two lists of them.
 *
 * A pattern has one meaning: a star is any run of characters, everything else itself. Matching
 * remembers the last star alone and goes on from there, since what an earlier star could take
 * differently a later one can take, too; so it costs no more than text times pattern.
 */
#include "actors/graph/compiled/retry_codes.h"

bool tr_code_matches(struct tr_text pattern, struct tr_text code)
{
    size_t at = 0;
    size_t in = 0;
    size_t star = SIZE_MAX; /* behind the last one */
    size_t taken = 0;       /* where its run ends */
    while (in < code.size) {
        if (at < pattern.size && pattern.data[at] == '*') {
            star = ++at;
            taken = in;
        } else if (at < pattern.size && pattern.data[at] == code.data[in]) {
            at++;
            in++;
        } else if (star != SIZE_MAX) {
            at = star;
            in = ++taken;
        } else {
            return false;
        }
    }
    while (at < pattern.size && pattern.data[at] == '*') {
        at++;
    }
    return at == pattern.size;
}

/* The name of an exception without its module. */
static struct tr_text without_module(struct tr_text name)
{
    const char *point = name.size == 0 ? NULL : memrchr(name.data, '.', name.size);
    size_t before = point == NULL ? 0 : (size_t)(point + 1 - name.data);
    return (struct tr_text){.data = name.data + before, .size = name.size - before};
}

/* The first pattern that names the failure, or NULL. */
static const struct tr_text *find(const struct tr_text *patterns, uint32_t count,
                                  const struct tr_failure_names *names)
{
    bool has_exception = names->exception.size > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (tr_code_matches(patterns[i], names->code) ||
            (has_exception && (tr_code_matches(patterns[i], names->exception) ||
                               tr_code_matches(patterns[i], without_module(names->exception))))) {
            return &patterns[i];
        }
    }
    return NULL;
}

bool tr_retry_allows(const struct tr_settings *settings, const struct tr_failure_names *names,
                     struct tr_text *pattern)
{
    const struct tr_text *never =
        find(settings->never_retry_on, settings->never_retry_on_count, names);
    if (never != NULL) {
        *pattern = *never;
        return false;
    }
    *pattern = tr_text_of("");
    return settings->retry_on_count == 0 ||
           find(settings->retry_on, settings->retry_on_count, names) != NULL;
}
