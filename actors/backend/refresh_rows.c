/*
 * Jobs as rows: found by identity, handle and task, added, and taken away.
 *
 * Handles and tasks are found by an index of hashes, whose rows say themselves what they are.
 */
#include <string.h>

#include "actors/backend/refresh.h"
#include "actors/graph/compiled/pack.h"

#define EDIT(name, type)                                                      \
    int name(struct tri_refresh *refresh, uint32_t number, struct type **row) \
    {                                                                         \
        void *any;                                                            \
        int error = tr_rows_edit(&refresh->rows, number, &any);               \
        if (error == 0) {                                                     \
            *row = any;                                                       \
        }                                                                     \
        return error;                                                         \
    }
EDIT(tri_refresh_job_edit, tri_job_row)
EDIT(tri_refresh_group_edit, tri_group_row)
EDIT(tri_refresh_list_edit, tri_list_row)
#undef EDIT

static struct tr_bytes bytes_of(struct tr_text text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

/* -------------------------------------------------------------- the index */

#define HASH_BYTES 16

/* What the index finds rows by: the kind of thing, and a hash of it. */
struct index_key {
    uint8_t bytes[1 + HASH_BYTES];
};

static struct index_key key_of(char kind, struct tr_bytes bytes)
{
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct index_key key = {.bytes = {(uint8_t)kind}};
    tr_digest(bytes, hash);
    memcpy(key.bytes + 1, hash, HASH_BYTES);
    return key;
}

static struct index_key key_of_handle(struct tr_text handle)
{
    return key_of('h', bytes_of(handle));
}

static struct index_key key_of_owner(struct tr_key owner)
{
    struct index_key key = {.bytes = {'o'}};
    memcpy(key.bytes + 1, &owner.group, sizeof owner.group);
    memcpy(key.bytes + 1 + sizeof owner.group, &owner.serial, sizeof owner.serial);
    return key;
}

static struct tr_bytes key_bytes(const struct index_key *key)
{
    return (struct tr_bytes){.data = key->bytes, .size = sizeof key->bytes};
}

static int index_find(struct tri_refresh *refresh, const struct index_key *key, uint32_t *number)
{
    struct tr_bytes value;
    int error = tr_index_find(refresh->context, &refresh->index, key_bytes(key), &value);
    if (error != 0) {
        return error;
    }
    if (value.size != sizeof *number) {
        return TR_MALFORMED;
    }
    memcpy(number, value.data, sizeof *number);
    return 0;
}

static int index_put(struct tri_refresh *refresh, const struct index_key *key, uint32_t number)
{
    return tr_index_put(refresh->context, &refresh->index, key_bytes(key),
                        (struct tr_bytes){.data = (const uint8_t *)&number, .size = sizeof number});
}

/*
 * Forgets a key where it leads to this row. Another row may have taken the key over, as that of a
 * task which goes on with another job.
 */
static int index_drop(struct tri_refresh *refresh, const struct index_key *key, uint32_t number)
{
    uint32_t found = 0;
    int error = index_find(refresh, key, &found);
    if (error != 0 || found != number) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tr_index_remove(refresh->context, &refresh->index, key_bytes(key));
}

/* ------------------------------------------------------------------- jobs */

static struct tr_rows_key job_key(struct tr_text identity)
{
    return tr_rows_key_bytes(TRI_REFRESH_JOB, bytes_of(identity));
}

int tri_refresh_job_find(struct tri_refresh *refresh, struct tr_text identity, uint32_t *number)
{
    struct tr_rows_key key = job_key(identity);
    return tr_rows_find(&refresh->rows, &key, number);
}

int tri_refresh_job_by_handle(struct tri_refresh *refresh, struct tr_text handle, uint32_t *number)
{
    struct index_key key = key_of_handle(handle);
    return index_find(refresh, &key, number);
}

int tri_refresh_job_by_owner(struct tri_refresh *refresh, struct tr_key owner, uint32_t *number)
{
    struct index_key key = key_of_owner(owner);
    return index_find(refresh, &key, number);
}

struct tr_text tri_refresh_job_identity(const struct tri_job_row *job)
{
    return (struct tr_text){.data = job->identity_text, .size = job->identity_size};
}

/* The blob of a handle that is too long for the row; 0: it is in the row. */
static uint32_t far_handle(const struct tri_job_row *job)
{
    uint32_t blob = 0;
    if (job->handle_size == TRI_JOB_HANDLE_FAR) {
        memcpy(&blob, job->handle_text, sizeof blob);
    }
    return blob;
}

int tri_refresh_job_handle(struct tri_refresh *refresh, const struct tri_job_row *job,
                           struct tr_text *handle)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)job->handle_text, .size = job->handle_size};
    uint32_t blob = far_handle(job);
    int error = blob == 0 ? 0 : tri_refresh_blob_get(refresh, blob, NULL, &bytes);
    if (error == 0) {
        *handle = (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
    }
    return error;
}

int tri_refresh_job_peek_handle(const struct tr_rows *rows, const struct tri_job_row *job,
                                struct tr_text *handle)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)job->handle_text, .size = job->handle_size};
    uint32_t blob = far_handle(job);
    int error = blob == 0 ? 0 : tri_refresh_blob_peek(rows, blob, &bytes);
    if (error == 0) {
        *handle = (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
    }
    return error;
}

static int add(struct tri_refresh *refresh, const struct tr_rows_key *key, struct tr_text identity,
               uint32_t group_number, uint32_t *number, struct tri_job_row **job)
{
    struct tri_group_row *group;
    void *row;
    TR_ASSERT(identity.size <= sizeof(*job)->identity_text);
    int error = tri_refresh_group_edit(refresh, group_number, &group);
    if (error != 0) {
        return error;
    }
    error = tr_rows_add(&refresh->rows, key, number, &row);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_group_leave(refresh, group_number, TRI_GROUPS_RESTING);
    *job = row;
    (*job)->group = group_number;
    (*job)->since_ms = refresh->now_ms;
    (*job)->identity_size = (uint8_t)identity.size;
    memcpy((*job)->identity_text, identity.data, identity.size);
    refresh->state->jobs++;
    group->rows++;
    group->jobs++;
    return error;
}

int tri_refresh_job_add(struct tri_refresh *refresh, struct tr_text identity,
                        struct tr_text group_name, uint32_t *number, struct tri_job_row **job)
{
    struct tr_rows_key key = job_key(identity);
    uint32_t group_number;
    /*
     * Jobs that are taken without capacity (watched, or of unknown outcome) may use half of the
     * pages that are kept free; the other half is for ends and handles.
     */
    uint32_t blobs_max = TRI_REFRESH_BLOB_PAGES - TRI_REFRESH_BLOB_PAGES_FREE / 2;
    if (refresh->rows.count >= TRI_REFRESH_ROWS_FULL || refresh->state->blobs_kept >= blobs_max) {
        return TR_LIMIT;
    }
    int error = tri_refresh_group_named(refresh, group_name, &group_number);
    return error != 0 ? error : add(refresh, &key, identity, group_number, number, job);
}

int tri_refresh_stray_add(struct tri_refresh *refresh, const struct tri_job_row *of,
                          struct tr_text handle, uint32_t *number)
{
    struct tr_rows_key key = tr_rows_key_bytes(TRI_REFRESH_STRAY, bytes_of(handle));
    struct tri_job_row *stray;
    int error = add(refresh, &key, tri_refresh_job_identity(of), of->group, number, &stray);
    if (error == 0) {
        struct tri_group_row *group;
        error = tri_refresh_group_edit(refresh, of->group, &group);
        if (error == 0) {
            group->strays++;
            group->endings++;
        }
        stray->stage = TR_WEBAPI_STAGE_SUBMITTED;
        stray->marks = TRI_JOB_STRAY | TRI_JOB_ENDING | TRI_JOB_MADE;
        if (error == 0) {
            error = tri_refresh_job_set_handle(refresh, *number, stray, handle);
        }
    }
    return error;
}

int tri_refresh_job_set_handle(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job, struct tr_text handle)
{
    struct index_key key = key_of_handle(handle);
    uint32_t blob = far_handle(job);
    bool is_far = handle.size > sizeof job->handle_text;
    int error =
        tri_refresh_blob_set(refresh, &blob, is_far ? bytes_of(handle) : (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    if (is_far) {
        memcpy(job->handle_text, &blob, sizeof blob);
    } else {
        memcpy(job->handle_text, handle.data, handle.size);
    }
    job->handle_size = is_far ? TRI_JOB_HANDLE_FAR : (uint8_t)handle.size;
    return index_put(refresh, &key, number);
}

int tri_refresh_job_own(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                        struct tr_ref owner, bool is_down)
{
    int error = 0;
    if (!tr_key_is_none(job->watched.actor.key)) {
        struct index_key key = key_of_owner(job->watched.actor.key);
        error = tr_watch_end(&refresh->watch, number, &job->watched, is_down);
        if (error == 0) {
            error = index_drop(refresh, &key, number);
        }
    }
    job->watched.actor = owner;
    if (error != 0 || tr_key_is_none(owner.key)) {
        return error;
    }
    struct index_key key = key_of_owner(owner.key);
    error = index_put(refresh, &key, number);
    return error != 0 ? error : tr_watch_begin(&refresh->watch, number, &job->watched);
}

void tri_refresh_job_count_end(struct tri_refresh *refresh, struct tri_job_row *job,
                               struct tri_group_row *group)
{
    bool is_ending = (job->marks & TRI_JOB_ENDING) != 0;
    tri_refresh_capacity_release(refresh, job);
    group->jobs--;
    group->strays -= (job->marks & TRI_JOB_STRAY) != 0 ? 1 : 0;
    group->endings -= is_ending && group->endings > 0 ? 1 : 0; /* older rows were not counted */
    tri_refresh_end_heard(refresh, job);
}

int tri_refresh_job_remove(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tri_group_row *group;
    struct tr_text handle;
    uint32_t group_number = job->group;
    int error = tri_refresh_job_own(refresh, number, job, (struct tr_ref){0}, false);
    if (error == 0) {
        error = tri_refresh_job_handle(refresh, job, &handle);
    }
    if (error == 0 && handle.size > 0) {
        struct index_key key = key_of_handle(handle);
        error = index_drop(refresh, &key, number);
    }
    if (error == 0) {
        error = tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    }
    uint32_t far = far_handle(job);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_blob_set(refresh, &far, (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    error = tri_refresh_group_edit(refresh, group_number, &group);
    if (error != 0) {
        return error;
    }
    if (job->stage != TR_WEBAPI_STAGE_TERMINAL) {
        error = tri_refresh_gate_on_end(refresh, number, job);
        if (error != 0) {
            return error;
        }
        tri_refresh_job_count_end(refresh, job, group);
    }
    if (job->policy == TRI_JOB_LEAVING) {
        refresh->state->leaving--;
        refresh->has_news = refresh->has_news || refresh->state->leaving == 0;
    }
    refresh->state->jobs--;
    group->rows--;
    error = tr_rows_remove(&refresh->rows, number);
    return error != 0 ? error : tri_refresh_group_try_remove(refresh, group_number);
}
