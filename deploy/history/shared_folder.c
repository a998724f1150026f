/*
 * Which folders of a history lie on a share.
 */
#include "deploy/history/shared_folder.h"

#include <string.h>

#include "plugins/builtin/registry.h"

bool tr_plugin_is_elsewhere(struct tr_text plugin)
{
    for (size_t i = 0; i < tr_plugin_count; i++) {
        if (tr_text_equal(plugin, tr_text_of(tr_plugins[i]->id))) {
            return tr_plugins[i]->shares_files && !tr_plugins[i]->is_local;
        }
    }
    return false;
}

/* Where the last part of a path begins; 0: there is none. */
static size_t last_part(struct tr_text path)
{
    const char *slash = path.size == 0 ? NULL : memrchr(path.data, '/', path.size);
    return slash == NULL ? 0 : (size_t)(slash - path.data) + 1;
}

bool tr_shared_folder_of(const struct tr_attempt *row, struct tri_shared *shared)
{
    struct tr_text folder = row->folder;
    size_t last = last_part(folder);
    if (last < 2 || !tr_plugin_is_elsewhere(row->plugin)) {
        return false;
    }
    struct tr_text name = {.data = folder.data + last, .size = folder.size - last};
    size_t trusted = last_part((struct tr_text){.data = folder.data, .size = last - 1});
    if (trusted < 2 || !tr_text_equal(name, row->generated_name)) {
        return false;
    }
    *shared = (struct tri_shared){.path = folder, .trusted_bytes = (uint32_t)trusted};
    return true;
}
