/*
 * Names of hosts. Where they cannot be read, those who ask show numbers: they are a remark only.
 */
#include "deploy/connect/host_names.h"

#include "runtime/memory.h"
#include "runtime/store_open.h"

void tr_host_names_init(struct tr_host_names *names, const char *folder)
{
    *names = (struct tr_host_names){.folder = folder};
}

void tr_host_names_fini(struct tr_host_names *names)
{
    tr_free(names->view);
    *names = (struct tr_host_names){.is_read = false};
}

static void read_names(struct tr_host_names *names)
{
    struct tri_registry *registry = NULL;
    names->is_read = true;
    if (tri_store_registry_open(names->folder, NULL, true, NULL, &registry) != 0) {
        return;
    }
    names->view = tr_alloc_zero(1, sizeof *names->view);
    if (names->view != NULL && tri_registry_look(registry, names->view) != 0) {
        tr_free(names->view);
        names->view = NULL;
    }
    tri_registry_close(registry);
}

static void add_name(void *self, uint16_t host, struct tr_buffer *text)
{
    struct tr_host_names *names = self;
    if (!names->is_read) {
        read_names(names);
    }
    const struct tri_member *member =
        names->view == NULL ? NULL : tri_member_view_find(names->view, host);
    if (member != NULL) {
        tr_buffer_add_string(text, member->name);
    }
}

struct tr_explain_hosts tr_host_names_explain(struct tr_host_names *names)
{
    return (struct tr_explain_hosts){.name = add_name, .self = names};
}
