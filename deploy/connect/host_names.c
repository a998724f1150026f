/*
 * Names of hosts. Where they cannot be read, those who ask show numbers: they are a remark only.
 */
#include "deploy/connect/host_names.h"

#include <string.h>

#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "runtime/troupe.h"
#include "schemas/engine/phase.h"

void tr_host_names_init(struct tr_host_names *names, struct tr_reader *reader)
{
    *names = (struct tr_host_names){.reader = reader};
}

void tr_host_names_fini(struct tr_host_names *names)
{
    tr_free(names->view);
    *names = (struct tr_host_names){.is_read = false};
}

static void read_names(struct tr_host_names *names)
{
    names->is_read = true;
    names->view = tr_alloc_zero(1, sizeof *names->view);
    bool is_there = names->reader != NULL && names->view != NULL;
    if (!is_there || tr_reader_members(names->reader, names->view) != 0) {
        tr_free(names->view);
        names->view = NULL;
    }
}

/* NULL: none can be read. */
static const struct tri_member_view *view_of(struct tr_host_names *names)
{
    if (!names->is_read) {
        read_names(names);
    }
    return names->view;
}

static bool is_shared(const struct tri_member_view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++) {
        count += view->members[i].owned > 0;
    }
    return count > 1;
}

const char *tr_host_names_of(struct tr_host_names *names, uint64_t group)
{
    const struct tri_member_view *view = view_of(names);
    uint64_t partition = tr_group_partition(group);
    if (view == NULL || !is_shared(view) || partition >= view->partition_count) {
        return NULL;
    }
    const struct tri_member *member = tri_member_view_find(view, view->partitions[partition]);
    return member == NULL ? NULL : member->name;
}

const char *tr_host_names_wanted(struct tr_host_names *names, uint64_t group)
{
    const struct tri_member_view *view = view_of(names);
    uint64_t partition = tr_group_partition(group);
    if (view == NULL || partition >= view->partition_count) {
        return NULL;
    }
    const struct tri_member *member = tri_member_view_find(view, view->wanted[partition]);
    return member == NULL ? NULL : member->name;
}

const char *tr_host_names_of_execution(struct tr_host_names *names, const struct tr_execution *row)
{
    return tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)
               ? NULL
               : tr_host_names_of(names, row->execution);
}

bool tr_host_names_has(struct tr_host_names *names, const char *name)
{
    const struct tri_member_view *view = view_of(names);
    for (size_t i = 0; view != NULL && i < view->count; i++) {
        if (strcmp(view->members[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_name(void *self, uint16_t host, struct tr_buffer *text)
{
    struct tr_host_names *names = self;
    const struct tri_member_view *view = view_of(names);
    const struct tri_member *member = view == NULL ? NULL : tri_member_view_find(view, host);
    if (member != NULL) {
        tr_buffer_add_string(text, member->name);
    }
}

struct tr_explain_hosts tr_host_names_explain(struct tr_host_names *names)
{
    return (struct tr_explain_hosts){.name = add_name, .self = names};
}
