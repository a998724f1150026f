/*
 * Makes a plan from a process_start: every argument gets a closing zero, every limit its number,
 * and an invalid request is refused here with words, before it is logged or started.
 *
 * A plan is one block of memory: the struct, the pointers to texts, the texts. It is measured first
 * and then filled, so one tr_free is enough.
 */
#include "runtime/process/spawn_plan.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/memory.h"

#define DEFAULT_SEARCH "/usr/local/bin:/usr/bin:/bin"

static const struct {
    const char *name;
    int resource;
} limit_names[] = {
#define TRI_LIMIT_ROW(name, resource) {(name), (resource)},
    TR_PROCESS_LIMITS(TRI_LIMIT_ROW)
#undef TRI_LIMIT_ROW
};

/* A plan that is being filled: where the next text goes. */
struct maker {
    struct tri_process_plan *plan;
    char **pointer;
    char *at;
    char *reason;
};

static int refuse(char *reason, int error, const char *words)
{
    snprintf(reason, TR_REASON_BYTES_MAX, "%s", words);
    return error;
}

/* Bytes of the names of folder and files, with closing zeros. */
static size_t paths_size(const struct tr_process_start *start)
{
    return start->folder.size + start->stdin_path.size + start->stdout_path.size +
           start->stderr_path.size + 4;
}

/* Counts an array's texts and their bytes with a closing zero each. */
static int measure(struct tr_bytes array, size_t *count, size_t *bytes)
{
    struct tr_cursor cursor;
    uint32_t texts = tr_process_array_begin(array, &cursor);
    for (uint32_t i = 0; i < texts && cursor.error == 0; i++) {
        *bytes += tr_process_string_next(&cursor).size + 1;
    }
    *count += texts;
    return cursor.error;
}

/* Copies one text and gives it a closing zero. */
static char *keep(struct maker *maker, const void *data, size_t size)
{
    char *word = maker->at;
    if (size > 0) {
        memcpy(word, data, size);
    }
    word[size] = '\0';
    maker->at += size + 1;
    return word;
}

/*
 * Whether an entry sets the keeper's mark. An engine that runs inside an attempt has one in its own
 * environment, which must not mark its processes as the outer attempt's.
 */
static bool is_mark(struct tr_bytes word)
{
    static const char mark[] = TRI_PROCESS_MARK "=";
    return word.size >= sizeof mark - 1 && memcmp(word.data, mark, sizeof mark - 1) == 0;
}

/* The arguments: the program's name comes first and must not be empty. */
static int fill_arguments(struct maker *maker, struct tr_bytes array)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    maker->plan->argv = maker->pointer;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        *maker->pointer++ = keep(maker, word.data, word.size);
    }
    *maker->pointer++ = NULL;
    if (count == 0 || maker->plan->argv[0][0] == '\0') {
        return refuse(maker->reason, TR_INVALID, "argv names no program");
    }
    return 0;
}

/*
 * The environment: our mark first, so that it is found also in a truncated block, and no other
 * entry of its name. A name has at least one byte before its '='.
 */
static int fill_environment(struct maker *maker, struct tr_bytes array, struct tr_text mark)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    maker->plan->environment = maker->pointer;
    *maker->pointer++ = maker->at;
    memcpy(maker->at, TRI_PROCESS_MARK "=", sizeof TRI_PROCESS_MARK);
    maker->at += sizeof TRI_PROCESS_MARK;
    keep(maker, mark.data, mark.size);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        if (word.size == 0 || memchr(word.data + 1, '=', word.size - 1) == NULL) {
            return refuse(maker->reason, TR_INVALID, "the environment holds no NAME=value");
        }
        if (is_mark(word)) {
            continue;
        }
        char *kept = keep(maker, word.data, word.size);
        *maker->pointer++ = kept;
        if (word.size >= 5 && memcmp(kept, "PATH=", 5) == 0) {
            maker->plan->search = kept + 5;
        }
    }
    *maker->pointer++ = NULL;
    return 0;
}

/* A name of a file or folder; NULL for an empty one. */
static int fill_path(struct maker *maker, struct tr_text path, const char **kept)
{
    if (path.size >= TR_PATH_BYTES_MAX) {
        return refuse(maker->reason, TR_LIMIT, "a file or folder with too long a name");
    }
    if (path.size > 0 && memchr(path.data, 0, path.size) != NULL) {
        return refuse(maker->reason, TR_INVALID, "a file or folder with a zero in its name");
    }
    *kept = path.size > 0 ? keep(maker, path.data, path.size) : NULL;
    return 0;
}

static int fill_paths(struct maker *maker, const struct tr_process_start *start)
{
    struct tri_process_plan *plan = maker->plan;
    const struct tr_text files[] = {start->stdin_path, start->stdout_path, start->stderr_path};
    int error = fill_path(maker, start->folder, &plan->folder);
    for (size_t i = 0; i < TR_COUNT_OF(files) && error == 0; i++) {
        error = fill_path(maker, files[i], &plan->files[i]);
    }
    if (error == 0 && (plan->folder == NULL || plan->folder[0] != '/')) {
        return refuse(maker->reason, TR_INVALID, "the working folder is not an absolute name");
    }
    plan->is_one_output =
        start->stdout_path.size > 0 && tr_text_equal(start->stdout_path, start->stderr_path);
    return error;
}

static int fill_limit(struct maker *maker, const struct tr_process_limit *limit)
{
    struct tri_process_plan *plan = maker->plan;
    for (size_t i = 0; i < TR_COUNT_OF(limit_names); i++) {
        if (tr_text_equal(tr_text_of(limit_names[i].name), limit->name)) {
            plan->limits[plan->limit_count++] = (struct tri_process_spawn_limit){
                .name = limit_names[i].name,
                .resource = limit_names[i].resource,
                .value = {.rlim_cur = limit->soft, .rlim_max = limit->hard},
            };
            return 0;
        }
    }
    snprintf(maker->reason, TR_REASON_BYTES_MAX, "there is no resource limit '%.*s'",
             (int)(limit->name.size < 64 ? limit->name.size : 64), limit->name.data);
    return TR_INVALID;
}

static int fill_limits(struct maker *maker, struct tr_bytes array)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    if (count > TR_PROCESS_RLIMITS_MAX) {
        return refuse(maker->reason, TR_LIMIT, "too many resource limits");
    }
    int error = 0;
    for (uint32_t i = 0; i < count && error == 0 && cursor.error == 0; i++) {
        struct tr_process_limit limit = tr_process_limit_next(&cursor);
        if (cursor.error == 0) {
            error = fill_limit(maker, &limit);
        }
    }
    if (cursor.error != 0) {
        return refuse(maker->reason, cursor.error, "limits is no array of [name, soft, hard]");
    }
    return error;
}

/* Fills a plan whose block is large enough. */
static int fill(struct maker *maker, const struct tr_process_start *start, struct tr_text mark)
{
    struct tri_process_plan *plan = maker->plan;
    plan->search = DEFAULT_SEARCH;
    plan->umask = start->umask != 0 ? start->umask & 0777 : TR_PROCESS_UMASK_DEFAULT;
    int error = fill_arguments(maker, start->argv);
    if (error == 0) {
        error = fill_environment(maker, start->environment, mark);
    }
    if (error == 0) {
        error = fill_paths(maker, start);
    }
    return error != 0 ? error : fill_limits(maker, start->limits);
}

int tri_process_plan_new(const struct tr_process_start *start, struct tr_text mark, char *reason,
                         struct tri_process_plan **plan)
{
    size_t texts = 0;
    size_t bytes = sizeof TRI_PROCESS_MARK + 1 + mark.size + paths_size(start);
    reason[0] = '\0';
    int error = measure(start->argv, &texts, &bytes);
    if (error == 0) {
        error = measure(start->environment, &texts, &bytes);
    }
    if (error != 0) {
        return refuse(reason, error, "argv or environment is no array of texts");
    }
    if (texts > TR_PROCESS_WORDS_MAX) {
        return refuse(reason, TR_LIMIT, "too many entries in argv and environment");
    }
    /* Both arrays end with NULL, and the mark is a variable of its own. */
    size_t pointers = (texts + 3) * sizeof(char *);
    struct tri_process_plan *made = tr_alloc_zero(1, sizeof *made + pointers + bytes);
    if (made == NULL) {
        return refuse(reason, TR_MEMORY, "out of memory");
    }
    struct maker maker = {.plan = made,
                          .pointer = (char **)(made + 1),
                          .at = (char *)(made + 1) + pointers,
                          .reason = reason};
    error = fill(&maker, start, mark);
    if (error != 0) {
        tri_process_plan_free(made);
        return error;
    }
    *plan = made;
    return 0;
}

void tri_process_plan_free(struct tri_process_plan *plan)
{
    tr_free(plan);
}

/* ---- Handing it on. ------------------------------------------------------------------------- */

bool tri_process_plan_program(const struct tri_process_plan *plan, char path[TR_PATH_BYTES_MAX])
{
    const char *name = plan->argv[0];
    const char *folder = plan->search;
    if (strchr(name, '/') != NULL) {
        snprintf(path, TR_PATH_BYTES_MAX, "%s", name);
        return access(path, X_OK) == 0;
    }
    while (*folder != '\0') {
        size_t size = strcspn(folder, ":");
        int used = snprintf(path, TR_PATH_BYTES_MAX, "%.*s/%s", (int)size, folder, name);
        if (used > 0 && used < TR_PATH_BYTES_MAX && access(path, X_OK) == 0) {
            return true;
        }
        folder += size;
        folder += *folder == ':' ? 1 : 0;
    }
    return false;
}

/* Texts that lie one behind the other, as `keep` has put them there. */
static struct tr_bytes block_of(char *const *texts)
{
    const char *begin = texts[0];
    const char *end = begin;
    for (; *texts != NULL; texts++) {
        end = *texts + strlen(*texts) + 1;
    }
    return (struct tr_bytes){.data = (const uint8_t *)begin, .size = (size_t)(end - begin)};
}

struct tr_bytes tri_process_plan_words(const struct tri_process_plan *plan)
{
    return block_of(plan->argv);
}

static const char *or_empty(const char *name)
{
    return name != NULL ? name : "";
}

int tri_process_plan_write(const struct tri_process_plan *plan)
{
    struct tr_bytes environment = block_of(plan->environment);
    int fd = memfd_create("troupe-plan", MFD_CLOEXEC);
    bool is_written = fd >= 0 &&
                      dprintf(fd, "%s%c%s%c%s%c%s%c%03o%c", plan->folder, 0,
                              or_empty(plan->files[0]), 0, or_empty(plan->files[1]), 0,
                              or_empty(plan->files[2]), 0, (unsigned)plan->umask, 0) > 0 &&
                      write(fd, environment.data, environment.size) == (ssize_t)environment.size &&
                      lseek(fd, 0, SEEK_SET) == 0;
    if (fd >= 0 && !is_written) {
        close(fd);
    }
    return is_written ? fd : TR_SYSTEM;
}
