/*
 * A mail as sendmail reads it from stdin: a head, an empty line, the text (RFC 5322, RFC 2047).
 *
 * The text goes as UTF-8 with its lines as they are; one that is longer than mail allows is parted.
 */
#include <string.h>

#include "actors/graph/value/literal.h"
#include "actors/services/notification.h"
#include "schemas/codec/utf8.h"

/* RFC 5322 allows 998 bytes a line; of a subject's encoded words 45 bytes fill one. */
#define LINE_BYTES_MAX 900U
#define WORD_BYTES_MAX 45U

static bool is_ascii(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* One line of the head; what is no ASCII goes in encoded words, and control bytes are blanks. */
static void add_subject(struct tr_buffer *mail, struct tr_text subject)
{
    tr_buffer_add_string(mail, "Subject:");
    if (is_ascii(subject) && subject.size <= LINE_BYTES_MAX) {
        tr_buffer_add_string(mail, " ");
        for (size_t i = 0; i < subject.size; i++) {
            char byte = subject.data[i];
            tr_buffer_add(mail, (unsigned char)byte < ' ' ? " " : &byte, 1);
        }
    } else {
        while (subject.size > 0) {
            size_t size = tr_utf8_cut(subject, WORD_BYTES_MAX);
            tr_buffer_add_string(mail, " =?UTF-8?B?");
            tri_base64_write((struct tr_bytes){.data = (const uint8_t *)subject.data, .size = size},
                             mail);
            subject = (struct tr_text){.data = subject.data + size, .size = subject.size - size};
            tr_buffer_add_string(mail, subject.size > 0 ? "?=\n" : "?=");
        }
    }
    tr_buffer_add_string(mail, "\n");
}

/* The text line by line. */
static void add_text(struct tr_buffer *mail, struct tr_text text)
{
    while (text.size > 0) {
        const char *feed = memchr(text.data, '\n', text.size);
        size_t size = feed == NULL ? text.size : (size_t)(feed - text.data);
        bool is_long = size > LINE_BYTES_MAX;
        size = is_long ? tr_utf8_cut(text, LINE_BYTES_MAX) : size;
        for (size_t i = 0; i < size; i++) {
            char byte = text.data[i];
            tr_buffer_add(mail, byte == '\0' || byte == '\r' ? " " : &byte, 1);
        }
        tr_buffer_add_string(mail, "\n");
        size += is_long || feed == NULL ? 0 : 1;
        text = (struct tr_text){.data = text.data + size, .size = text.size - size};
    }
}

/* The addresses, with commas between, a line for each. */
static void add_addresses(const struct tri_notification *notification, struct tr_buffer *mail)
{
    struct tr_cursor cursor = tr_cursor_of(tri_notification_part(notification, "to"));
    uint32_t count = tr_read_array(&cursor);
    tr_buffer_add_string(mail, "To:");
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        tr_buffer_add_string(mail, i == 0 ? " " : ",\n ");
        tr_buffer_add_text(mail, tr_read_text(&cursor));
    }
    tr_buffer_add_string(mail, "\n");
}

static void add_head(const struct tri_notification *notification, struct tr_buffer *mail)
{
    const char *from = tr_engine_of(notification->context)->mail_from;
    if (from != NULL) {
        tr_buffer_print(mail, "From: %s\n", from);
    }
    add_addresses(notification, mail);
    add_subject(mail, tri_notification_text(notification, "subject"));
    tr_buffer_print(mail,
                    "Message-ID: <%.*s@troupe>\n"
                    "Auto-Submitted: auto-generated\n"
                    "MIME-Version: 1.0\n"
                    "Content-Type: text/plain; charset=utf-8\n"
                    "Content-Transfer-Encoding: 8bit\n\n",
                    TRI_TEXT(notification->notify.key));
}

struct tr_text tri_notification_mail(struct tri_notification *notification)
{
    struct tr_buffer mail;
    tr_buffer_init(&mail, TR_MESSAGE_BYTES_MAX);
    add_head(notification, &mail);
    add_text(&mail, tri_notification_text(notification, "text"));
    struct tr_text kept = tr_arena_text(&notification->arena, tr_buffer_text(&mail));
    if (mail.error != 0 && notification->arena.error == 0) {
        notification->arena.error = mail.error;
    }
    tr_buffer_fini(&mail);
    return kept;
}
