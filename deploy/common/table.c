/*
 * Tables: widths are counted while cells come, so that writing is one pass.
 */
#include "deploy/common/table.h"

#include <stdarg.h>
#include <string.h>

/* Blanks between two columns. */
#define GAP 2

void tr_table_init(struct tr_table *table, uint32_t column_count)
{
    TR_ASSERT(column_count > 0 && column_count <= TR_TABLE_COLUMNS_MAX);
    *table = (struct tr_table){.column_count = column_count};
    tr_buffer_init(&table->text, 0);
}

void tr_table_fini(struct tr_table *table)
{
    tr_buffer_fini(&table->text);
}

/* Characters of a text; each shows as one column. */
static uint32_t width_of(struct tr_text text)
{
    uint32_t width = 0;
    for (size_t i = 0; i < text.size; i++) {
        width += ((uint8_t)text.data[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return width;
}

void tr_table_text(struct tr_table *table, struct tr_text text)
{
    uint32_t *width = &table->widths[table->cell_count++ % table->column_count];
    size_t begin = table->text.size;
    tr_buffer_add_visible(&table->text, text);
    struct tr_text shown = {.data = (const char *)table->text.data + begin,
                            .size = table->text.size - begin};
    uint32_t needed = width_of(shown);
    *width = needed > *width ? needed : *width;
    tr_buffer_add(&table->text, "", 1);
}

void tr_table_print(struct tr_table *table, const char *format, ...)
{
    char words[512];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    tr_table_text(table, tr_text_of(words));
}

int tr_table_write(const struct tr_table *table, uint32_t indent, FILE *stream)
{
    if (table->text.error != 0) {
        return table->text.error;
    }
    const char *cell = (const char *)table->text.data;
    uint32_t blanks = indent; /* written when something follows: no line ends with them */
    for (uint32_t i = 0; i < table->cell_count - table->cell_count % table->column_count; i++) {
        uint32_t column = i % table->column_count;
        struct tr_text text = tr_text_of(cell);
        if (text.size > 0) {
            fprintf(stream, "%*s%s", (int)blanks, "", cell);
            blanks = 0;
        }
        blanks += table->widths[column] - width_of(text) + GAP;
        if (column + 1 == table->column_count) {
            fputc('\n', stream);
            blanks = indent;
        }
        cell += text.size + 1;
    }
    return 0;
}
