/*
 * A word is read from its beginning: a node of the workflow whose id it begins with, and behind
 * that, if it is not the end, an attempt or an element and an attempt, and a node of the workflow
 * that this one runs. Ids may hold hyphens and digits themselves, so that each is tried.
 */
#include "deploy/api_runs/node_ids.h"

#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "schemas/codec/error.h"

char *tr_node_id_print(struct tr_desk_job *job, struct tr_text path)
{
    struct tr_buffer word;
    tr_buffer_init(&word, 0);
    for (size_t i = 0; i < path.size; i++) {
        char letter = path.data[i];
        if (letter == '/') {
            tr_buffer_add_string(&word, "-0-");
        } else if (letter == '[') {
            tr_buffer_add_string(&word, "-");
        } else if (letter != ']') {
            tr_buffer_add(&word, &letter, 1);
        }
    }
    job->arena.error = job->arena.error != 0 ? job->arena.error : word.error;
    char *text = tr_view_text(job, tr_buffer_text(&word));
    tr_buffer_fini(&word);
    return text;
}

Flyteidl__Core__NodeExecutionIdentifier *tr_node_id_of_address(struct tr_desk_job *job,
                                                               struct tr_text address)
{
    size_t at = 0;
    unsigned slashes = 0;
    while (at < address.size && (slashes += address.data[at] == '/' ? 1 : 0) < 4) {
        at++;
    }
    struct tr_text path = {.data = address.data + at + 1,
                           .size = at < address.size ? address.size - at - 1 : 0};
    Flyteidl__Core__NodeExecutionIdentifier *id =
        tr_flyte_message_new(&job->arena, &flyteidl__core__node_execution_identifier__descriptor);
    if (id != NULL) {
        id->execution_id = tr_view_address(job, address);
        id->node_id = tr_node_id_print(job, path);
    }
    return id;
}

/* ------------------------------------------------------------- reading */

struct reading {
    struct tr_route *route;
    char path[TR_RUNS_NODE_ID_BYTES];
    int error; /* other than that there is none */
};

/* Takes -N off a word, with N an ordinary number; how many digits, 0: it is none. */
static size_t take_number(struct tr_text word)
{
    size_t digits = 0;
    while (1 + digits < word.size && word.data[1 + digits] >= '0' && word.data[1 + digits] <= '9') {
        digits++;
    }
    bool is_one = word.size > 1 && word.data[0] == '-' && digits > 0 && digits < 20 &&
                  (digits == 1 || word.data[1] != '0');
    return is_one ? digits : 0;
}

static bool read_inside(struct reading *reading, struct tr_inside inside, struct tr_text word,
                        size_t size, struct tr_text *path, struct tr_stop *stop);

/* What follows the id of a node that runs a workflow; `size` is what the path has so far. */
static bool read_rest(struct reading *reading, const struct tr_stop *stop, struct tr_text rest,
                      size_t size, struct tr_text *path, struct tr_stop *found)
{
    static const char attempt[] = "-0-";
    struct tr_inside inside;
    struct tr_text so_far = {.data = reading->path, .size = size};
    bool is_map = stop->workflow->nodes[stop->node].kind == TR_NODE_MAP;
    int error = tr_route_inside(reading->route, so_far, stop, &inside);
    reading->error = reading->error != 0 ? reading->error : error;
    size_t digits = is_map ? take_number(rest) : 0;
    if (error != 0 || inside.workflow == NULL || (is_map && digits == 0) ||
        size + digits + 3 >= sizeof reading->path) {
        return false;
    }
    if (is_map) {
        reading->path[size++] = '[';
        memcpy(reading->path + size, rest.data + 1, digits);
        size += digits;
        reading->path[size++] = ']';
        rest.data += digits + 1;
        rest.size -= digits + 1;
    }
    if (rest.size < sizeof attempt || memcmp(rest.data, attempt, sizeof attempt - 1) != 0) {
        return false;
    }
    reading->path[size++] = '/';
    rest.data += sizeof attempt - 1;
    rest.size -= sizeof attempt - 1;
    return read_inside(reading, inside, rest, size, path, found);
}

/* The depth is that of workflows in each other, which the compiler bounds. */
static bool read_inside(struct reading *reading, struct tr_inside inside, struct tr_text word,
                        size_t size, struct tr_text *path, struct tr_stop *found)
{
    for (uint32_t i = 0; i < inside.workflow->node_count && reading->error == 0; i++) {
        struct tr_text id = inside.workflow->nodes[i].id;
        bool begins = id.size > 0 && id.size <= word.size &&
                      memcmp(id.data, word.data, id.size) == 0 &&
                      size + id.size < sizeof reading->path;
        if (!begins) {
            continue;
        }
        struct tr_stop stop = {.graph = inside.graph, .workflow = inside.workflow, .node = i};
        struct tr_text rest = {.data = word.data + id.size, .size = word.size - id.size};
        memcpy(reading->path + size, id.data, id.size);
        if (rest.size == 0) {
            *path = (struct tr_text){.data = reading->path, .size = size + id.size};
            *found = stop;
            return true;
        }
        if (read_rest(reading, &stop, rest, size + id.size, path, found)) {
            return true;
        }
    }
    return false;
}

int tr_node_id_find(struct tr_arena *arena, struct tr_route *route, struct tr_text word,
                    struct tr_text *path, struct tr_stop *stop)
{
    struct reading reading = {.route = route, .error = 0};
    struct tr_inside all = {route->graph, &route->graph->workflows[route->root]};
    struct tr_text found;
    if (word.size >= sizeof reading.path) {
        return TR_LIMIT;
    }
    bool is_found = read_inside(&reading, all, word, 0, &found, stop);
    if (!is_found) {
        return reading.error != 0 ? reading.error : TR_NOT_FOUND;
    }
    *path = tr_arena_text(arena, found);
    return arena->error;
}
