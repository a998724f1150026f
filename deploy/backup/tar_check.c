/*
 * From block to block. Headers are compared with what they say, fillings with zeros, files with
 * their checksums, and the end is the end: nothing is left between.
 */
#include "deploy/backup/tar_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

struct check {
    struct tr_bytes file;
    size_t at;
    bool checks;
    bool has_sums; /* they were read: nothing but the end may follow */
    struct tr_sums sums;
    const struct tr_tar_visitor *visitor;
    char *problem;
};

TR_PRINTF(3, 4)
static int fail(const struct check *check, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check->problem, TR_TAR_PROBLEM_BYTES, format, arguments);
    va_end(arguments);
    return error;
}

static int fail_cut(const struct check *check, const char *path)
{
    return fail(check, TR_TRUNCATED, "it ends at byte %zu, within %.300s; it was cut off",
                check->file.size, path);
}

static bool is_zero(struct tr_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] != 0) {
            return false;
        }
    }
    return true;
}

static struct tr_bytes rest(const struct check *check)
{
    return (struct tr_bytes){.data = check->file.data + check->at,
                             .size = check->file.size - check->at};
}

/* The bytes of an entry, and the zeros behind them. */
static int take_bytes(struct check *check, const struct tr_tar_entry *entry, struct tr_bytes *bytes)
{
    uint32_t padding = tr_tar_padding(entry->size);
    struct tr_bytes left = rest(check);
    if (entry->size > left.size || left.size - entry->size < padding) {
        return fail_cut(check, entry->path);
    }
    *bytes = (struct tr_bytes){.data = left.data, .size = (size_t)entry->size};
    const struct tr_bytes filling = {.data = left.data + entry->size, .size = padding};
    if (!is_zero(filling)) {
        return fail(check, TR_MALFORMED, "it is damaged behind byte %zu, after %.300s",
                    check->at + (size_t)entry->size, entry->path);
    }
    check->at += (size_t)entry->size + padding;
    return 0;
}

/* The checksums of the file against those that were just taken. */
static int take_sums(struct check *check, struct tr_bytes bytes)
{
    const struct tr_text found = {(const char *)bytes.data, bytes.size};
    int error = tr_sums_finish(&check->sums);
    if (error != 0) {
        return fail(check, error, "%s", tr_error_text(error));
    }
    struct tr_text path = tr_sums_difference(&check->sums, found);
    check->has_sums = true;
    return path.size == 0 || !check->checks
               ? 0
               : fail(check, TR_MALFORMED, "it is damaged: %.*s does not fit its checksum",
                      (int)(path.size < 300 ? path.size : 300), path.data);
}

static int take_entry(struct check *check, const struct tr_tar_entry *entry)
{
    struct tr_bytes bytes;
    int error = take_bytes(check, entry, &bytes);
    if (error != 0) {
        return error;
    }
    if (strcmp(entry->path, TR_SUMS_NAME) == 0) {
        return take_sums(check, bytes);
    }
    if (check->checks) {
        tr_sums_begin(&check->sums);
        tr_sums_update(&check->sums, bytes);
        tr_sums_end(&check->sums, entry);
    }
    return check->visitor->entry(check->visitor->self, entry, bytes);
}

static int take_end(const struct check *check)
{
    if (!check->has_sums) {
        return fail(check, TR_TRUNCATED, "it ends at byte %zu without " TR_SUMS_NAME, check->at);
    }
    struct tr_bytes left = rest(check);
    if (left.size < TR_TAR_END_BYTES) {
        return fail_cut(check, "its last blocks");
    }
    return left.size == TR_TAR_END_BYTES && is_zero(left)
               ? 0
               : fail(check, TR_MALFORMED, "it is damaged behind byte %zu, at its end", check->at);
}

static int visit(struct check *check)
{
    static const char *path_before = "its beginning";
    struct tr_tar_entry entry;
    struct tr_tar_entry before = {.size = 0};
    int error = 0;
    while (error == 0) {
        size_t size = 0;
        error = tr_tar_read(rest(check), &entry, &size);
        if (error == TR_NOT_FOUND) {
            return take_end(check);
        }
        if (error == TR_TRUNCATED) {
            return fail_cut(check, before.path[0] == '\0' ? path_before : "its entries");
        }
        if (error != 0 || check->has_sums) {
            return fail(check, error != 0 ? error : TR_MALFORMED,
                        "it is damaged at byte %zu, %s%.300s", check->at,
                        before.path[0] == '\0' ? "at its beginning" : "after ", before.path);
        }
        check->at += size;
        error = take_entry(check, &entry);
        before = entry;
    }
    return error;
}

int tr_tar_visit(struct tr_bytes file, bool checks, const struct tr_tar_visitor *visitor,
                 char *problem)
{
    struct check check = {.file = file, .checks = checks, .visitor = visitor, .problem = problem};
    problem[0] = '\0';
    tr_sums_init(&check.sums);
    int error = visit(&check);
    tr_sums_fini(&check.sums);
    return error;
}
