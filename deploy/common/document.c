/*
 * Documents as JSON and as YAML's block style. Scalars are JSON's in both, since those are YAML.
 *
 * Rows are written as they come, a million of them in no more memory than one. jansson would make
 * an object of each, in three times the time (5.4 s for a million rows of four values, against
 * 1.8 s); libyaml's emitter takes a quarter more (4.7 s against 3.7 s), does not indent lists, and
 * has no event for a value that is JSON already, which would have to be parsed for it again.
 */
#include "deploy/common/document.h"

#include "actors/graph/document/moment.h"
#include "schemas/codec/print.h"

void tr_document_init(struct tr_document *document, FILE *stream, enum tr_output output)
{
    *document = (struct tr_document){.stream = stream, .is_yaml = output == TR_OUTPUT_YAML};
}

void tr_document_fini(struct tr_document *document)
{
    TR_ASSERT(document->depth == 0);
    if (!document->is_yaml) {
        fputc('\n', document->stream);
    }
}

/* Text in quotes, whatever its size. */
static int put_part(void *self, struct tr_text text)
{
    fwrite(text.data, 1, text.size, self);
    return 0;
}

static void put_text(struct tr_document *document, struct tr_text text)
{
    char buffer[256];
    struct tr_sink sink = tr_sink_flushing(buffer, sizeof buffer, put_part, document->stream);
    tr_print_json_text(&sink, text);
    tr_sink_flush(&sink);
}

/* Whether a name needs no quotes in YAML. */
static bool is_plain(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
        bool is_more = at > name && ((*at >= '0' && *at <= '9') || *at == '-');
        if (!is_letter && !is_more) {
            return false;
        }
    }
    static const char *const words[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        if (tr_text_equal(tr_text_of(name), tr_text_of(words[i]))) {
            return false;
        }
    }
    return name[0] != '\0';
}

static void begin_yaml(struct tr_document *document, const char *name, bool is_level)
{
    FILE *stream = document->stream;
    bool is_list = document->levels[document->depth - 1].is_list;
    bool is_behind_dash = document->levels[document->depth - 1].count == 1 && document->depth > 1 &&
                          document->levels[document->depth - 2].is_list;
    if (!is_behind_dash) {
        fprintf(stream, "%*s", 2 * ((int)document->depth - 1), "");
    }
    if (is_list) {
        fputs("- ", stream);
    } else if (is_plain(name)) {
        fprintf(stream, is_level ? "%s:" : "%s: ", name);
    } else {
        put_text(document, tr_text_of(name));
        fputs(is_level ? ":" : ": ", stream);
    }
}

/* What stands before a value: a comma or an indent, and its name. */
static void begin_value(struct tr_document *document, const char *name, bool is_level)
{
    if (document->depth == 0) {
        return;
    }
    bool is_first = document->levels[document->depth - 1].count++ == 0;
    if (document->is_yaml) {
        begin_yaml(document, name, is_level);
        return;
    }
    if (!is_first) {
        fputc(',', document->stream);
    }
    if (!document->levels[document->depth - 1].is_list) {
        put_text(document, tr_text_of(name));
        fputc(':', document->stream);
    }
}

static void end_value(struct tr_document *document)
{
    if (document->is_yaml) {
        fputc('\n', document->stream);
    }
}

static void begin_level(struct tr_document *document, const char *name, bool is_list)
{
    begin_value(document, name, true);
    TR_ASSERT(document->depth < TR_DOCUMENT_DEPTH_MAX);
    bool is_in_list = document->depth > 0 && document->levels[document->depth - 1].is_list;
    if (!document->is_yaml) {
        fputc(is_list ? '[' : '{', document->stream);
    } else if (document->depth > 0 && !is_in_list) {
        fputc('\n', document->stream);
    }
    document->levels[document->depth].is_list = is_list;
    document->levels[document->depth++].count = 0;
}

void tr_document_begin_map(struct tr_document *document, const char *name)
{
    begin_level(document, name, false);
}

void tr_document_begin_list(struct tr_document *document, const char *name)
{
    begin_level(document, name, true);
}

void tr_document_end(struct tr_document *document)
{
    TR_ASSERT(document->depth > 0);
    document->depth--;
    bool is_list = document->levels[document->depth].is_list;
    bool is_empty = document->levels[document->depth].count == 0;
    if (!document->is_yaml) {
        fputc(is_list ? ']' : '}', document->stream);
    } else if (is_empty) {
        fprintf(document->stream, "%*s%s\n", 2 * (int)document->depth, "", is_list ? "[]" : "{}");
    }
}

void tr_document_text(struct tr_document *document, const char *name, struct tr_text text)
{
    begin_value(document, name, false);
    put_text(document, text);
    end_value(document);
}

void tr_document_number(struct tr_document *document, const char *name, int64_t number)
{
    begin_value(document, name, false);
    fprintf(document->stream, "%lld", (long long)number);
    end_value(document);
}

void tr_document_bool(struct tr_document *document, const char *name, bool value)
{
    begin_value(document, name, false);
    fputs(value ? "true" : "false", document->stream);
    end_value(document);
}

void tr_document_null(struct tr_document *document, const char *name)
{
    begin_value(document, name, false);
    fputs("null", document->stream);
    end_value(document);
}

void tr_document_text_or_null(struct tr_document *document, const char *name, const char *text)
{
    if (text != NULL) {
        tr_document_text(document, name, tr_text_of(text));
    } else {
        tr_document_null(document, name);
    }
}

void tr_document_time(struct tr_document *document, const char *name, uint64_t time_ms)
{
    struct tr_moment moment = {.seconds = (int64_t)(time_ms / 1000),
                               .nanoseconds = (uint32_t)(time_ms % 1000) * 1000000};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, TR_MOMENT_BYTES_MAX);
    tr_moment_print(moment, &buffer);
    if (time_ms == 0 || buffer.error != 0) {
        tr_document_null(document, name);
    } else {
        tr_document_text(document, name, tr_buffer_text(&buffer));
    }
    tr_buffer_fini(&buffer);
}

void tr_document_begin_json(struct tr_document *document, const char *name)
{
    begin_value(document, name, false);
}

void tr_document_end_json(struct tr_document *document)
{
    end_value(document);
}

void tr_document_json(struct tr_document *document, const char *name, struct tr_text json)
{
    tr_document_begin_json(document, name);
    fwrite(json.data, 1, json.size, document->stream);
    tr_document_end_json(document);
}
