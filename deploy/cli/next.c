/*
 * Commands as a shell takes them: what is no plain word is quoted.
 */
#include "deploy/cli/next.h"

#include "actors/graph/document/buffer.h"
#include "deploy/cli/store.h"
#include "deploy/common/show.h"
#include "schemas/engine/flow.h"

void tr_next_init(struct tr_next *next, const struct tr_invocation *invocation, FILE *stream)
{
    *next = (struct tr_next){.invocation = invocation, .stream = stream, .lead = "next: "};
}

void tr_next_print(struct tr_next *next, const char *command, struct tr_text execution,
                   struct tr_text path, uint64_t element)
{
    struct tr_buffer line;
    struct tr_buffer target;
    char word[PATH_MAX];
    const char *store = tr_store_word(next->invocation, word);
    if (next->invocation->is_quiet) {
        return;
    }
    tr_buffer_init(&line, 0);
    tr_buffer_init(&target, 0);
    tr_buffer_print(&line, "%stroupe %s", next->lead, command);
    if (store != NULL) {
        tr_buffer_add_string(&line, " --store ");
        tr_word_print(tr_text_of(store), &line);
    }
    tr_buffer_add_text(&target, execution);
    tr_buffer_add_string(&target, path.size > 0 ? "/" : "");
    tr_buffer_add_text(&target, path);
    if (element != TR_ELEMENT_NONE) {
        tr_buffer_print(&target, "[%llu]", (unsigned long long)element);
    }
    tr_buffer_add_string(&line, " ");
    tr_word_print(tr_buffer_text(&target), &line);
    fprintf(next->stream, "%.*s\n", (int)line.size, (const char *)line.data);
    next->lead = "      ";
    tr_buffer_fini(&target);
    tr_buffer_fini(&line);
}
