/*
 * What a path says by itself: of this machine or not, in a folder of an attempt or not.
 *
 * Nothing here looks at the disk, so it can be used in handlers. Whether a path that passes is
 * really inside its folder, behind symbolic links, is checked by the fence of the blob store.
 */
#include "actors/values/path.h"

#include <string.h>

#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/process.h"

#define SCHEME "file://"

bool tri_path_is_local(struct tr_text uri)
{
    return (uri.size > 0 && uri.data[0] == '/') ||
           (uri.size >= sizeof SCHEME && memcmp(uri.data, SCHEME, sizeof SCHEME - 1) == 0);
}

struct tr_text tri_path_local(struct tr_text uri)
{
    size_t skipped = tri_path_is_local(uri) && uri.data[0] != '/' ? sizeof SCHEME - 1 : 0;
    return (struct tr_text){.data = uri.data + skipped, .size = uri.size - skipped};
}

enum tr_path_kind tri_path_kind(const struct tr_type *type)
{
    return type->kind == TR_TYPE_FILE        ? TR_PATH_FILE
           : type->kind == TR_TYPE_DIRECTORY ? TR_PATH_DIRECTORY
                                             : TR_PATH_ANY;
}

/*
 * The codes name what a person has to mend: a path outside the folder, a file in the place of a
 * directory, or nothing that can be read. Any other error is the engine's, and the task is not
 * blamed for it.
 */
const char *tri_path_failure(int error)
{
    switch (error) {
    case TR_OUTSIDE:
        return "OutputNotAllowed";
    case TR_MISMATCH:
        return "MismatchingTypes";
    case TR_NOT_FOUND:
    case TR_INVALID:
    case TR_LIMIT:
        return "OutputsNotFound";
    default:
        return NULL;
    }
}

/* What stands behind a folder in a path below it, with a slash; nothing: it does not lie there. The
 * folder itself may be called by many names, its last part by one. */
static struct tr_text below_folder(struct tr_text uri, struct tr_text folder)
{
    struct tr_text none = {.data = "", .size = 0};
    const char *end = uri.data + uri.size;
    const char *at = folder.size == 0 || uri.size == 0
                         ? NULL
                         : memmem(uri.data, uri.size, folder.data, folder.size);
    if (at == NULL || at == uri.data || at[-1] != '/' || at + folder.size == end ||
        at[folder.size] != '/') {
        return none;
    }
    at += folder.size;
    return (struct tr_text){.data = at, .size = (size_t)(end - at)};
}

/* Words about the working folder itself are no data. */
static bool is_in_work(struct tr_text below)
{
    static const char work[] = "/" TR_ATTEMPT_WORK "/";
    return below.size >= sizeof work && memcmp(below.data, work, sizeof work - 1) == 0;
}

/* Takes the last part from a path of folders. */
static struct tr_text take_last(struct tr_text *path)
{
    const char *slash = path->size == 0 ? NULL : memrchr(path->data, '/', path->size);
    size_t before = slash == NULL ? 0 : (size_t)(slash - path->data) + 1;
    struct tr_text last = {.data = path->data + before, .size = path->size - before};
    path->size = slash == NULL ? 0 : before - 1;
    return last;
}

/*
 * The last part of `attempt` is the generated name, the rest is the execution's: the first says
 * whether a path is the attempt's own, the second whether it is of the execution's checkpoints.
 */
bool tri_path_is_own(const struct tri_path *path, struct tr_text attempt)
{
    if (!tri_path_is_local(path->uri)) {
        return false;
    }
    struct tr_text below = below_folder(path->uri, take_last(&attempt));
    if (path->type->kind == TR_TYPE_STRUCT ? is_in_work(below) : below.size > 0) {
        return true;
    }
    struct tr_text checkpoints = below_folder(path->uri, tr_text_of(TR_STORE_CHECKPOINTS));
    return below_folder(checkpoints, take_last(&attempt)).size > 1;
}

bool tri_path_is_declared(const struct tri_path *path)
{
    return path->type->kind == TR_TYPE_FILE || path->type->kind == TR_TYPE_DIRECTORY;
}

bool tri_path_is_blob(struct tr_text uri)
{
    return tr_blob_uri_name(uri).size > 0 ||
           (tri_path_is_local(uri) && tr_blob_path_name(uri).size > 0);
}

bool tri_path_is_kept(const struct tri_path *path, struct tr_text attempt)
{
    bool is_local = tri_path_is_local(path->uri);
    return tri_path_is_declared(path)
               ? is_local
               : tri_path_is_own(path, attempt) || (is_local && tri_path_is_blob(path->uri));
}

bool tri_path_may_stay(const struct tri_path *path, int error)
{
    return path->type->kind == TR_TYPE_STRUCT && error == TR_NOT_FOUND;
}

bool tri_path_may_be_in(const struct tr_variables *variables, enum tr_path_scope scope)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        if (tr_type_may_hold_paths(variables->items[i].type, scope)) {
            return true;
        }
    }
    return false;
}
