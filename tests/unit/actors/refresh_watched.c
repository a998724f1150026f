/*
 * The watched shape of the stand: the part of a group's name before its "." is its scope. A list
 * has `page_items` jobs a page, a line each, and the rest "next INDEX:VERSION" or "at VERSION".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

static int find_scope(struct tr_webapi_batch *batch, struct tr_text *scope)
{
    const char *dot = memchr(batch->job_set.data, '.', batch->job_set.size);
    *scope = batch->job_set;
    scope->size = dot == NULL ? scope->size : (size_t)(dot - batch->job_set.data);
    return 0;
}

static int write_list(struct tr_webapi_batch *batch, struct tr_text page,
                      struct tr_webapi_request *request)
{
    char *full = batch->api->scratch(batch, 256);
    if (full == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(full, 256, "/list/%.*s", (int)batch->job_set.size, batch->job_set.data);
    request->path = tr_text_of(full);
    request->body = (struct tr_bytes){.data = (const uint8_t *)page.data, .size = page.size};
    return 0;
}

static int read_rest(struct tr_webapi_batch *batch, struct tr_bytes rest)
{
    char word[8] = "";
    char *place = batch->api->scratch(batch, 64);
    char *text = strndup((const char *)rest.data, rest.size);
    int found = sscanf(text, "%7s %63s", word, place);
    free(text);
    if (found != 2) {
        return TR_MALFORMED;
    }
    return strcmp(word, "next") == 0 ? batch->api->next_page(batch, tr_text_of(place))
                                     : batch->api->resume(batch, tr_text_of(place));
}

static int read_item(struct tr_webapi_batch *batch, struct tr_bytes item)
{
    return refresh_back_read_line(batch, item);
}

static int read_line(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    bool is_anew = line.size == 4 && memcmp(line.data, "anew", 4) == 0;
    return is_anew ? batch->api->begin_anew(batch) : refresh_back_webapi.stream.line(batch, line);
}

static int read_begin_line(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    char version[16] = "";
    char *text = strndup((const char *)line.data, line.size);
    bool is_all = sscanf(text, "all %15s", version) == 1;
    free(text);
    if (!is_all) {
        return read_line(batch, line);
    }
    int error = batch->api->caught_up(batch);
    return error != 0 ? error : batch->api->resume(batch, tr_text_of(version));
}

static int write_begin(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    char *full = batch->api->scratch(batch, 256);
    if (full == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(full, 256, "/stream-begin/%.*s", (int)batch->job_set.size, batch->job_set.data);
    request->path = tr_text_of(full);
    return 0;
}

static int find_beside(struct tr_webapi_batch *batch, struct tr_text *scope)
{
    (void)batch;
    *scope = tr_text_of(back.has_beside ? "parts" : "");
    return 0;
}

static const struct tr_webapi_watch watch = {.silence_ms = 75000,
                                             .removes = true,
                                             .scope = find_scope,
                                             .write_list = write_list,
                                             .item = read_item,
                                             .rest = read_rest,
                                             .beside = find_beside};

void refresh_stand_give_watch(void)
{
    back.webapi.watch = &watch;
    back.webapi.stream = back.standard_stream;
    back.webapi.stream.write_backlog = NULL;
    back.webapi.stream.line = read_line;
    back.webapi.find.items_max = 0;
    back.page_items = 100;
}

void refresh_stand_give_begin(void)
{
    static struct tr_webapi_watch begun;
    refresh_stand_give_watch();
    begun = watch;
    begun.write_begin = write_begin;
    back.webapi.watch = &begun;
    back.webapi.stream.line = read_begin_line;
}

bool back_is_of(const struct back_job *job, const char *scope)
{
    size_t size = strlen(scope);
    return strncmp(job->group, scope, size) == 0 &&
           (job->group[size] == '\0' || (back.webapi.watch != NULL && job->group[size] == '.'));
}

uint32_t back_list(const char *scope, struct tr_bytes page, char **items, char **rest)
{
    char text[64] = "";
    unsigned index = 0;
    unsigned version = back.event_count;
    memcpy(text, page.data, page.size);
    if (page.size == 0) {
        back.lists++;
    } else {
        (void)sscanf(text, "%u:%u", &index, &version);
    }
    back.pages++;
    if (page.size > 0 && back.forgets_pages > 0) {
        back.forgets_pages--;
        return back.webapi.stream.gone;
    }
    size_t used = 0;
    uint32_t shown = 0;
    size_t size = 200 * (size_t)(back.page_items + 1);
    *items = calloc(1, size);
    *rest = calloc(1, 64);
    for (; index < back.job_count && shown < back.page_items; index++) {
        const struct back_job *job = &back.jobs[index];
        if (!job->is_removed && back_is_of(job, scope)) {
            used += (size_t)snprintf(*items + used, size - used, "%s %s %u %u\n", job->identity,
                                     job->handle, job->phase, version);
            shown++;
        }
    }
    (void)snprintf(*rest, 64, index < back.job_count ? "next %u:%u" : "at %u",
                   index < back.job_count ? index : version, version);
    return 200;
}
