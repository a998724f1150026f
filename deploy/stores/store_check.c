/*
 * `troupe store check`: reads all of a store and says what is wrong with it. Findings go to stdout
 * as they come, and how far it is to stderr, now and then.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/engine/assemble.h"
#include "deploy/stores/store.h"
#include "runtime/memory.h"
#include "runtime/store_care.h"

/* How often it says how far it is. */
#define SAID_EVERY_MS 2000

/* Behaviours below it are the runtime's own (runtime/behaviour.h). */
#define FIRST_BEHAVIOUR 100

/* Tables of a store: those of the state, and a program's records. */
#define TABLES_MAX 128

struct checking {
    struct tr_store_target *target;
    struct tr_document document;
    bool has_begun;
    bool is_document;
    uint64_t findings;
    uint64_t rows;
    uint64_t said_ms;
    size_t tables;
    struct {
        char name[80];
        uint64_t rows;
    } table[TABLES_MAX];
};

/* Nothing is printed of a store that cannot be opened. */
static void begin(struct checking *checking)
{
    if (checking->has_begun) {
        return;
    }
    checking->has_begun = true;
    checking->is_document = checking->target->invocation->output != TR_OUTPUT_TEXT;
    if (checking->is_document) {
        tr_document_init(&checking->document, stdout, checking->target->invocation->output);
        tr_document_begin_map(&checking->document, NULL);
        tr_document_text(&checking->document, "store", tr_text_of(checking->target->shown));
        tr_document_begin_list(&checking->document, "findings");
    }
}

static void tell(void *self, const struct tri_finding *finding)
{
    struct checking *checking = self;
    struct tr_document *document = &checking->document;
    begin(checking);
    checking->findings++;
    if (!checking->is_document) {
        printf("%s: %s; %s\n", finding->place, finding->what, finding->remedy);
        return;
    }
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "place", tr_text_of(finding->place));
    tr_document_text(document, "what", tr_text_of(finding->what));
    tr_document_text(document, "remedy", tr_text_of(finding->remedy));
    tr_document_end(document);
}

static int go_on(void *self, const char *table, uint64_t rows)
{
    struct checking *checking = self;
    uint64_t now_ms = tr_clock_ms();
    if (now_ms - checking->said_ms >= SAID_EVERY_MS) {
        checking->said_ms = now_ms;
        tr_command_note(checking->target->invocation, "checks %s: %llu rows so far", table,
                        (unsigned long long)rows);
    }
    return 0;
}

static void finish_table(void *self, const char *table, uint64_t rows)
{
    struct checking *checking = self;
    checking->rows += rows;
    if (checking->tables < TABLES_MAX) {
        snprintf(checking->table[checking->tables].name, sizeof checking->table->name, "%s", table);
        checking->table[checking->tables++].rows = rows;
    }
}

/* The state of an actor, by the schema of its behaviour. */
static int read_state(void *self, uint16_t behaviour, uint8_t version, struct tr_bytes state)
{
    (void)self;
    for (size_t i = 0; i < TR_LIVE_BEHAVIOURS; i++) {
        const struct tr_schema *schema = tr_live_behaviours[i]->state;
        if (tr_live_behaviours[i]->id == behaviour && schema != NULL) {
            void *value = tr_alloc(schema->struct_size);
            int error = value == NULL ? TR_MEMORY : schema->unpack(state, version, value);
            tr_free(value);
            return error;
        }
    }
    return behaviour < FIRST_BEHAVIOUR ? 0 : TR_UNKNOWN_TYPE;
}

static void end_document(struct checking *checking, int error)
{
    struct tr_document *document = &checking->document;
    tr_document_end(document);
    tr_document_begin_list(document, "tables");
    for (size_t i = 0; i < checking->tables; i++) {
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "name", tr_text_of(checking->table[i].name));
        tr_document_number(document, "rows", (int64_t)checking->table[i].rows);
        tr_document_end(document);
    }
    tr_document_end(document);
    tr_document_bool(document, "well", error == 0 && checking->findings == 0);
    tr_document_end(document);
    tr_document_fini(document);
}

/* What is said at the end of a check that got there. */
static void conclude(const struct checking *checking)
{
    if (checking->findings == 0) {
        printf("the store %s is well: %zu tables, %llu rows\n", checking->target->shown,
               checking->tables, (unsigned long long)checking->rows);
    } else {
        printf("the store %s is not well: %llu finding%s\n", checking->target->shown,
               (unsigned long long)checking->findings, checking->findings == 1 ? "" : "s");
    }
}

enum tr_exit_status tr_store_check(struct tr_store_target *target)
{
    static struct checking checking;
    struct tri_store_checking asked = {.options = target->options,
                                       .self = &checking,
                                       .found = tell,
                                       .read_state = read_state,
                                       .progress = go_on,
                                       .finished = finish_table};
    checking = (struct checking){.target = target, .said_ms = tr_clock_ms()};
    int error = tri_store_check(&asked, target->explain);
    if (error == TR_STORE_DAMAGED) {
        struct tri_finding finding = {.place = "the store",
                                      .what = target->explain,
                                      .remedy = "nothing more of it was checked"};
        tell(&checking, &finding);
        error = 0;
    }
    if (error == 0) {
        begin(&checking);
    }
    if (checking.is_document) {
        end_document(&checking, error);
    } else if (error == 0) {
        conclude(&checking);
    }
    if (error != 0) {
        return tr_store_target_failed(target, error);
    }
    return checking.findings == 0 ? TR_EXIT_DONE : TR_EXIT_FAILED;
}
