/*
 * Drawing: from what is known of the nodes to lines of text. Nothing here knows a terminal.
 */
#include "deploy/follow/screen.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/common/show.h"
#include "deploy/history/gates.h"
#include "runtime/memory.h"

/* The width of a progress bar. */
#define BAR_COLUMNS 20

/* Elements between two lines of an array's progress, as a part of all: one in so many. */
#define PROGRESS_PARTS 10

/* How a gate looks that waits for people. */
#define WAITING_COLOR "\x1b[33m"

/* How nodes of each phase look: colour, and which come first where room is short. */
static const struct {
    const char *color;
    uint8_t rank;
} looks[TR_NODE_PHASE_COUNT] = {
    [TR_NODE_PHASE_NOT_YET_STARTED] = {"2", 5},
    [TR_NODE_PHASE_QUEUED] = {"2", 3},
    [TR_NODE_PHASE_RUNNING] = {"36", 1},
    [TR_NODE_PHASE_FAILING] = {"31", 0},
    [TR_NODE_PHASE_SUCCEEDING] = {"36", 1},
    [TR_NODE_PHASE_SUCCEEDED] = {"32", 4},
    [TR_NODE_PHASE_FAILED] = {"31", 0},
    [TR_NODE_PHASE_SKIPPED] = {"2", 5},
    [TR_NODE_PHASE_RETRYABLE_FAILURE] = {"33", 1},
    [TR_NODE_PHASE_TIMING_OUT] = {"31", 0},
    [TR_NODE_PHASE_TIMED_OUT] = {"31", 0},
    [TR_NODE_PHASE_DYNAMIC_RUNNING] = {"36", 1},
    [TR_NODE_PHASE_RECOVERED] = {"32", 4},
    [TR_NODE_PHASE_ABORTING] = {"33", 1},
    [TR_NODE_PHASE_ABORTED] = {"33", 2},
};

/* Whether a node is a gate that waits for people, which is no running node. */
static bool is_waiting(const struct tr_node_seen *node)
{
    return tr_gate_waits(tr_text_of(node->kind), node->phase);
}

static uint8_t rank_of(const struct tr_node_seen *node)
{
    if (is_waiting(node)) {
        return 0; /* somebody has to act */
    }
    return node->phase < TR_NODE_PHASE_COUNT ? looks[node->phase].rank : 5;
}

static bool is_over(const struct tr_node_seen *node)
{
    return tr_phase_is_end(TR_SUBJECT_NODE, node->phase);
}

/* What such a gate waits for, and the command that answers it. */
static void print_wait(const struct tr_screen_head *head, const struct tr_node_seen *node,
                       uint64_t waited_ms, struct tr_buffer *buffer)
{
    struct tr_buffer words;
    struct tr_gate_shown gate = {.store = head->store,
                                 .execution = head->name,
                                 .path = tr_text_of(node->path),
                                 .kind = tr_text_of(node->kind),
                                 .id = tr_text_of(node->target)};
    tr_buffer_init(&words, 0);
    tr_gate_wait_print(&gate, waited_ms, &words);
    tr_buffer_add_visible(buffer, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

/* How long a node has run. */
static uint64_t span_of(const struct tr_node_seen *node, uint64_t now_ms)
{
    uint64_t begin_ms = node->started_ms != 0 ? node->started_ms : node->created_ms;
    uint64_t end_ms = node->ended_ms != 0 ? node->ended_ms : now_ms;
    return begin_ms == 0 || end_ms < begin_ms ? 0 : end_ms - begin_ms;
}

/* ------------------------------------------------------------------------ a picture */

/* Which nodes have room: their positions. */
struct choice {
    const struct tr_nodes *nodes;
    size_t *places;
    size_t count;
};

/* The order in which nodes began. */
static int by_time(const void *a, const void *b, void *self)
{
    const struct tr_nodes *nodes = self;
    const struct tr_node_seen *one = &nodes->items[*(const size_t *)a];
    const struct tr_node_seen *other = &nodes->items[*(const size_t *)b];
    if (one->created_ms != other->created_ms) {
        return one->created_ms < other->created_ms ? -1 : 1;
    }
    return strcmp(one->path, other->path);
}

/* The order in which nodes get room: by rank, the latest first. */
static int by_rank(const void *a, const void *b, void *self)
{
    const struct tr_nodes *nodes = self;
    const struct tr_node_seen *one = &nodes->items[*(const size_t *)a];
    const struct tr_node_seen *other = &nodes->items[*(const size_t *)b];
    if (rank_of(one) != rank_of(other)) {
        return rank_of(one) < rank_of(other) ? -1 : 1;
    }
    return -by_time(a, b, self);
}

/* Chooses so many nodes; false without memory. */
static bool choose(struct choice *choice, const struct tr_nodes *nodes, size_t room)
{
    *choice =
        (struct choice){.nodes = nodes, .places = tr_alloc((nodes->count + 1) * sizeof(size_t))};
    if (choice->places == NULL) {
        return false;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        choice->places[i] = i;
    }
    void *self = (void *)(uintptr_t)nodes;
    choice->count = nodes->count;
    if (nodes->count > room) {
        qsort_r(choice->places, nodes->count, sizeof(size_t), by_rank, self);
        choice->count = room;
    }
    qsort_r(choice->places, choice->count, sizeof(size_t), by_time, self);
    return true;
}

/* Ends a line that began at `begin`: no wider than the screen. Columns are characters. */
static void end_line(const struct tr_screen *screen, struct tr_buffer *buffer, size_t begin)
{
    uint32_t columns = 0;
    bool is_code = false;
    for (size_t i = begin; i < buffer->size; i++) {
        uint8_t byte = buffer->data[i];
        if (byte == 0x1b || is_code) {
            is_code = byte != 'm';
            continue;
        }
        columns += (byte & 0xc0) != 0x80 ? 1 : 0;
        if (columns > screen->columns) {
            tr_buffer_cut(buffer, i);
            break;
        }
    }
    tr_buffer_add_string(buffer, screen->has_color ? "\x1b[0m\n" : "\n");
}

static void print_bar(const struct tr_node_seen *node, struct tr_buffer *buffer)
{
    uint64_t done = node->succeeded + node->failed;
    uint64_t filled = node->total == 0 ? 0 : BAR_COLUMNS * done / node->total;
    tr_buffer_add_string(buffer, "[");
    for (uint64_t i = 0; i < BAR_COLUMNS; i++) {
        tr_buffer_add_string(buffer, i < filled ? "#" : ".");
    }
    tr_buffer_print(buffer, "] %llu/%llu", (unsigned long long)done,
                    (unsigned long long)node->total);
    if (node->failed > 0) {
        tr_buffer_print(buffer, " %llu failed", (unsigned long long)node->failed);
    }
    if (node->retrying > 0) {
        tr_buffer_print(buffer, " %llu waiting to retry", (unsigned long long)node->retrying);
    }
}

/* Of an array that has ended: how many elements did not succeed, or were in the cache. */
static void print_counts(const struct tr_node_seen *node, struct tr_buffer *buffer)
{
    if (node->failed > 0 && node->phase == TR_NODE_PHASE_SUCCEEDED) {
        tr_buffer_print(buffer, ", %llu of %llu failed", (unsigned long long)node->failed,
                        (unsigned long long)node->total);
    }
    if (node->cached > 0) {
        tr_buffer_print(buffer, ", %llu from the cache", (unsigned long long)node->cached);
    }
}

static int width_of(const struct choice *choice)
{
    size_t width = 8;
    for (size_t i = 0; i < choice->count; i++) {
        size_t size = strlen(choice->nodes->items[choice->places[i]].path);
        width = size > width ? size : width;
    }
    return width > 40 ? 40 : (int)width;
}

/* What a node that runs says of how far it has come, in its own words. */
static void print_saying(const struct tr_screen_head *head, const struct tr_node_seen *node,
                         struct tr_buffer *buffer)
{
    struct tr_buffer words;
    if (head->says == NULL || node->phase != TR_NODE_PHASE_RUNNING) {
        return;
    }
    tr_buffer_init(&words, 0);
    head->says(head->self, node, &words);
    if (words.size > 0) {
        tr_buffer_add_string(buffer, "  ");
        tr_buffer_add_visible(buffer, tr_buffer_text(&words));
    }
    tr_buffer_fini(&words);
}

/* How a node stands, behind its path. */
static void draw_state(const struct tr_screen *screen, const struct tr_screen_head *head,
                       const struct tr_node_seen *node, struct tr_buffer *buffer)
{
    if (screen->has_color && node->phase < TR_NODE_PHASE_COUNT) {
        tr_buffer_print(buffer, "\x1b[%sm", looks[node->phase].color);
    }
    tr_buffer_print(buffer, "%-9s", tr_node_phase_word(node->phase));
    tr_buffer_add_string(buffer, screen->has_color ? "\x1b[0m " : " ");
    if (node->phase != TR_NODE_PHASE_QUEUED && node->phase != TR_NODE_PHASE_SKIPPED) {
        tr_span_print(span_of(node, head->now_ms), buffer);
    }
    if (node->total > 0) {
        tr_buffer_add_string(buffer, "  ");
        print_bar(node, buffer);
    }
    if (node->cache_status == TR_CACHE_STATUS_HIT) {
        tr_buffer_add_string(buffer, "  from the cache");
    }
    if (node->attempts > 1) {
        tr_buffer_print(buffer, "  attempt %u", node->attempts - 1);
    }
    print_saying(head, node, buffer);
    if (node->message[0] != '\0') {
        tr_buffer_add_string(buffer, "  ");
        tr_buffer_add_visible(buffer, tr_text_of(node->message));
    }
}

static void draw_node(const struct tr_screen *screen, const struct tr_screen_head *head,
                      const struct tr_node_seen *node, int width, struct tr_buffer *buffer)
{
    size_t begin = buffer->size;
    tr_buffer_add_string(buffer, "  ");
    tr_buffer_add_visible(buffer, tr_text_of(node->path));
    int drawn = (int)(buffer->size - begin) - 2;
    tr_buffer_print(buffer, "%*s", drawn < width ? width - drawn + 2 : 2, "");
    if (is_waiting(node)) {
        tr_buffer_add_string(buffer, screen->has_color ? WAITING_COLOR : "");
        print_wait(head, node, span_of(node, head->now_ms), buffer);
    } else {
        draw_state(screen, head, node, buffer);
    }
    end_line(screen, buffer, begin);
}

/* What has no room: how many of each phase. */
static void draw_rest(const struct tr_screen *screen, const struct choice *choice,
                      struct tr_buffer *buffer)
{
    size_t counts[TR_NODE_PHASE_COUNT] = {0};
    size_t waiting = 0;
    size_t begin = buffer->size;
    for (size_t i = choice->count; i < choice->nodes->count; i++) {
        const struct tr_node_seen *node = &choice->nodes->items[choice->places[i]];
        if (is_waiting(node)) {
            waiting++;
        } else {
            counts[node->phase < TR_NODE_PHASE_COUNT ? node->phase : 0]++;
        }
    }
    tr_buffer_print(buffer, "  and %zu more:", choice->nodes->count - choice->count);
    if (waiting > 0) {
        tr_buffer_print(buffer, " %zu waiting", waiting);
    }
    for (uint8_t phase = 0; phase < TR_NODE_PHASE_COUNT; phase++) {
        if (counts[phase] > 0) {
            tr_buffer_print(buffer, " %zu %s", counts[phase], tr_node_phase_word(phase));
        }
    }
    end_line(screen, buffer, begin);
}

uint32_t tr_screen_draw(const struct tr_screen *screen, const struct tr_screen_head *head,
                        const struct tr_nodes *nodes, struct tr_buffer *buffer)
{
    struct choice choice;
    uint32_t rows = screen->rows < 3 ? 3 : screen->rows;
    bool fits = nodes->count <= rows - 1;
    size_t begin = buffer->size;
    tr_buffer_add_visible(buffer, head->name);
    tr_buffer_print(buffer, "  %s  ", tr_execution_phase_word(head->phase));
    tr_span_print(head->now_ms < head->created_ms ? 0 : head->now_ms - head->created_ms, buffer);
    if (head->hint != NULL) {
        tr_buffer_print(buffer, screen->has_color ? "  \x1b[2m%s" : "  %s", head->hint);
    }
    end_line(screen, buffer, begin);
    if (!choose(&choice, nodes, fits ? nodes->count : rows - 2)) {
        return 1;
    }
    int width = width_of(&choice);
    for (size_t i = 0; i < choice.count; i++) {
        draw_node(screen, head, &nodes->items[choice.places[i]], width, buffer);
    }
    if (!fits) {
        draw_rest(screen, &choice, buffer);
    }
    tr_free(choice.places);
    return 1 + (uint32_t)choice.count + (fits ? 0 : 1);
}

/* ----------------------------------------------------------------------- plain lines */

/* Phases on the way between two others are not worth a line. */
static bool is_worth_a_line(uint8_t phase)
{
    return phase != TR_NODE_PHASE_NOT_YET_STARTED && phase != TR_NODE_PHASE_QUEUED &&
           phase != TR_NODE_PHASE_SUCCEEDING && phase != TR_NODE_PHASE_FAILING &&
           phase != TR_NODE_PHASE_TIMING_OUT;
}

/* Whether an array has gone on far enough for another line. */
static bool has_progress(const struct tr_node_seen *node)
{
    uint64_t done = node->succeeded + node->failed;
    return node->total > 0 && !is_over(node) && done > node->shown_done &&
           (done - node->shown_done) * PROGRESS_PARTS >= node->total;
}

/* Whether it runs again, though nobody has looked between two attempts. */
static bool runs_again(const struct tr_node_seen *node)
{
    return node->phase == TR_NODE_PHASE_RUNNING && node->shown == TR_NODE_PHASE_RUNNING &&
           node->attempts > 1 && node->attempts != node->shown_attempts;
}

static bool has_news(const struct tr_node_seen *node)
{
    return (node->phase != node->shown && is_worth_a_line(node->phase)) || has_progress(node) ||
           runs_again(node);
}

/* When the news happened. */
static uint64_t news_ms(const struct tr_node_seen *node, uint64_t now_ms)
{
    if (has_progress(node)) {
        return now_ms;
    }
    if (is_over(node)) {
        return node->ended_ms;
    }
    bool is_first = node->phase == TR_NODE_PHASE_RUNNING && node->attempts <= 1;
    return is_first && node->started_ms != 0 ? node->started_ms : now_ms;
}

static int by_news(const void *a, const void *b, void *self)
{
    const struct tr_nodes *nodes = self;
    uint64_t one = news_ms(&nodes->items[*(const size_t *)a], UINT64_MAX);
    uint64_t other = news_ms(&nodes->items[*(const size_t *)b], UINT64_MAX);
    return one != other ? (one < other ? -1 : 1) : by_time(a, b, self);
}

static void print_news(const struct tr_screen_head *head, struct tr_node_seen *node,
                       struct tr_buffer *buffer)
{
    uint64_t at_ms = news_ms(node, head->now_ms);
    size_t begin = buffer->size;
    tr_span_print(at_ms < head->created_ms ? 0 : at_ms - head->created_ms, buffer);
    while (buffer->error == 0 && buffer->size < begin + 8) {
        tr_buffer_add_string(buffer, " ");
    }
    tr_buffer_print(buffer, "%s: ", node->path);
    if (is_waiting(node)) {
        print_wait(head, node, TR_GATE_NOT_SAID, buffer);
    } else if (has_progress(node)) {
        print_bar(node, buffer);
        node->shown_done = node->succeeded + node->failed;
    } else {
        tr_buffer_add_string(buffer, tr_node_phase_word(node->phase));
    }
    if (node->phase == TR_NODE_PHASE_RUNNING && node->attempts > 1) {
        tr_buffer_print(buffer, ", attempt %u", node->attempts - 1);
    }
    if (is_over(node) && node->phase != TR_NODE_PHASE_SKIPPED) {
        tr_buffer_add_string(buffer, " in ");
        tr_span_print(span_of(node, head->now_ms), buffer);
    }
    if (is_over(node) && node->cache_status == TR_CACHE_STATUS_HIT) {
        tr_buffer_add_string(buffer, ", from the cache");
    }
    if (is_over(node) && !has_progress(node)) {
        print_counts(node, buffer);
    }
    if (node->message[0] != '\0') {
        tr_buffer_add_string(buffer, ": ");
        tr_buffer_add_visible(buffer, tr_text_of(node->message));
    }
    tr_buffer_add_string(buffer, "\n");
    node->shown = node->phase;
    node->shown_attempts = node->attempts;
}

void tr_screen_lines(const struct tr_screen_head *head, struct tr_nodes *nodes,
                     struct tr_buffer *buffer)
{
    size_t count = 0;
    size_t *places = tr_alloc((nodes->count + 1) * sizeof *places);
    for (size_t i = 0; places != NULL && i < nodes->count; i++) {
        if (has_news(&nodes->items[i])) {
            places[count++] = i;
        }
    }
    if (places != NULL) {
        qsort_r(places, count, sizeof *places, by_news, nodes);
    }
    for (size_t i = 0; i < count; i++) {
        print_news(head, &nodes->items[places[i]], buffer);
    }
    tr_free(places);
}
