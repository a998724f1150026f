/*
 * Which folders of a history lie on a share, and what lies in them.
 */
#include "deploy/history/shared_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "plugins/builtin/registry.h"
#include "runtime/blob/fence.h"

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

int tr_attempt_file_open(struct tr_text folder, uint32_t trusted_bytes, const char *name)
{
    char path[PATH_MAX];
    char words[TRI_FENCE_WORDS_BYTES];
    const struct tr_fence fence = {folder, trusted_bytes};
    int file = -1;
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)folder.size, folder.data, name);
    if (folder.size == 0 || length < 0 || (size_t)length >= sizeof path) {
        return -1;
    }
    if (trusted_bytes > 0) {
        return tri_fence_open(&fence, path, &file, words) == 0 ? file : -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}
