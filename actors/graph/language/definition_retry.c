/*
 * `retry_on` and `never_retry_on`: lists of codes, and what is warned of in them.
 *
 * A code may be any text, as tasks make up their own. A slip in one would be found only when a
 * failure is tried again that should not be, or the other way round; so a code that is nearly one
 * that is known is a warning, and one that these keys have no say over.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/failure_codes.h"
#include "actors/graph/language/keys.h"

static void check_code(struct tri_definition *definition, const struct tr_tree *tree,
                       struct tr_text code)
{
    if (memchr(code.data, '*', code.size) != NULL) {
        return;
    }
    struct tr_text nearest = tr_text_of("");
    switch (tri_failure_code_kind(code)) {
    case TRI_CODE_UNKNOWN:
        nearest = tri_failure_code_nearest(code);
        if (nearest.size > 0) {
            tri_report_warn(definition->report, tree->place,
                            "'%.*s' is no code that is known\ndid you mean '%.*s'?",
                            TRI_SHOWN(code), TRI_SHOWN(nearest));
        }
        break;
    case TRI_CODE_OF_SYSTEM:
        tri_report_warn(definition->report, tree->place,
                        "'%.*s' is a failure of the system, which has retries of its own\n"
                        "remove it",
                        TRI_SHOWN(code));
        break;
    case TRI_CODE_FINAL:
        tri_report_warn(definition->report, tree->place, "'%.*s' is never tried again\nremove it",
                        TRI_SHOWN(code));
        break;
    case TRI_CODE_OF_USER:
        break;
    }
}

static bool read_code(struct tri_definition *definition, const struct tr_tree *tree,
                      struct tr_text *code)
{
    if (!tri_keys_read_text(definition, tree, code)) {
        return false;
    }
    if (code->size > TR_RETRY_CODE_BYTES_MAX) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "'%.*s' is longer than a code, which has at most %u bytes\n"
                       "write the beginning of it and a *",
                       TRI_SHOWN(*code), TR_RETRY_CODE_BYTES_MAX);
        return false;
    }
    check_code(definition, tree, *code);
    return true;
}

/* The codes of a list; what is wrong is told, and leaves the list shorter. */
static void read_codes(struct tri_definition *definition, const struct tr_tree *value,
                       const char *key, const struct tr_text **codes, uint32_t *count)
{
    if (!tri_keys_expect_list(definition, value, key)) {
        return;
    }
    if (value->count > TR_RETRY_CODES_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "%s names %u codes, more than %u\nwrite one with a * for several", key,
                       value->count, TR_RETRY_CODES_MAX);
        return;
    }
    struct tr_text *items = tr_arena_array(definition->arena, value->count, sizeof *items);
    uint32_t kept = 0;
    for (uint32_t i = 0; items != NULL && i < value->count; i++) {
        kept += read_code(definition, value->items[i], &items[kept]) ? 1 : 0;
    }
    *codes = items;
    *count = items == NULL ? 0 : kept;
}

void tri_keys_read_retry_on(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_RETRY_ON;
    read_codes(definition, value, "retry_on", &settings->settings.retry_on,
               &settings->settings.retry_on_count);
    if (value->kind == TR_TREE_LIST && value->count == 0) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "retry_on names no code, so that nothing would be tried again\n"
                       "write codes, [\"*\"] for all of them, or retries: 0");
    }
}

void tri_keys_read_never_retry_on(struct tri_definition *definition, const struct tr_tree *value,
                                  void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_NEVER_RETRY_ON;
    read_codes(definition, value, "never_retry_on", &settings->settings.never_retry_on,
               &settings->settings.never_retry_on_count);
}
