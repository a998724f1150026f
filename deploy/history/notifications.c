/*
 * Rows of notifications, read and put into words. An index leads to those that are not delivered,
 * since an engine that is about to leave asks for them while there may be millions of others.
 */
#include "deploy/history/notifications.h"

#include "actors/graph/document/report.h"
#include "deploy/common/document.h"
#include "deploy/common/show.h"

/* What tr_reader_rows gives goes on with its own type. */
struct taking {
    int (*take)(void *self, const struct tr_notification_row *row);
    void *self;
};

static int take_row(void *self, const void *row)
{
    const struct taking *taking = self;
    return taking->take(taking->self, row);
}

int tr_notifications_read(struct tr_reader *reader, uint64_t execution,
                          int (*take)(void *self, const struct tr_notification_row *row),
                          void *self)
{
    struct taking taking = {.take = take, .self = self};
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    struct tr_reader_query query = {.record = &tr_notification_row_schema,
                                    .filters = &filter,
                                    .filter_count = 1,
                                    .order = {{.field = "created_ms"}, {.field = "position"}}};
    return tr_reader_rows(reader, &query, take_row, &taking);
}

static struct tr_reader_filter is_left(void)
{
    return tr_filter_number("status", TR_FILTER_LESS, TR_NOTIFICATION_DELIVERED);
}

int tr_notifications_unfinished(struct tr_reader *reader,
                                int (*take)(void *self, const struct tr_notification_row *row),
                                void *self)
{
    struct taking taking = {.take = take, .self = self};
    struct tr_reader_filter filter = is_left();
    struct tr_reader_query query = {
        .record = &tr_notification_row_schema, .filters = &filter, .filter_count = 1};
    return tr_reader_rows(reader, &query, take_row, &taking);
}

/* One that is on its way has no time, or one that has passed. */
int tr_notifications_left(struct tr_reader *reader, uint64_t execution, uint64_t before_ms,
                          uint64_t *count)
{
    struct tr_reader_filter filters[] = {
        is_left(),
        tr_filter_number("next_ms", TR_FILTER_LESS, before_ms),
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
    };
    struct tr_reader_query query = {.record = &tr_notification_row_schema,
                                    .filters = filters,
                                    .filter_count = execution == 0 ? 2 : 3};
    return tr_reader_count(reader, &query, count);
}

bool tr_notification_is_left(const struct tr_notification_row *row)
{
    return row->status < TR_NOTIFICATION_DELIVERED;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

void tr_notification_print(const struct tr_notification_row *row, uint64_t now_ms,
                           struct tr_buffer *text)
{
    switch ((enum tr_notification_status)row->status) {
    case TR_NOTIFICATION_RETRYING:
        tr_buffer_add_string(text, "retrying since ");
        tr_span_print(now_ms > row->created_ms ? now_ms - row->created_ms : 0, text);
        tr_buffer_print(text, ", %u attempt%s, again in ", row->attempts, plural(row->attempts));
        tr_span_print(row->next_ms > now_ms ? row->next_ms - now_ms : 0, text);
        break;
    case TR_NOTIFICATION_GIVEN_UP:
        tr_buffer_print(text, "given up after %u attempt%s", row->attempts, plural(row->attempts));
        break;
    case TR_NOTIFICATION_DELIVERED:
        tr_buffer_add_string(text, "delivered");
        if (row->attempts > 1) {
            tr_buffer_print(text, ", %u attempts", row->attempts);
        }
        break;
    case TR_NOTIFICATION_PENDING:
    case TR_NOTIFICATION_STATUS_COUNT:
        tr_buffer_add_string(text, tr_notification_status_word(row->status));
        break;
    }
    if (row->message.size > 0) {
        tr_buffer_add_string(text, ": ");
        tr_buffer_add_visible(text, row->message);
    }
}

void tr_notification_write(const struct tr_notification_row *row, struct tr_document *document)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "notification", row->key);
    tr_document_text(document, "phase", tr_text_of(tr_notify_phase_word(row->phase)));
    tr_document_number(document, "position", row->position);
    tr_document_text(document, "gate", row->path);
    tr_document_text(document, "kind", tr_text_of(tr_notify_kind_word(row->kind)));
    tr_document_text(document, "target", row->target);
    tr_document_text(document, "status", tr_text_of(tr_notification_status_word(row->status)));
    tr_document_number(document, "attempts", row->attempts);
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "next_at", row->next_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    tr_document_text(document, "message", row->message);
    tr_document_end(document);
}
