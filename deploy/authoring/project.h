/*
 * Templates of projects: folders with a flow.yaml and what its tasks run, which are copied as they
 * are. They are installed beside the program (deploy/settings/installed.h), so that another
 * template is another folder in share/templates/ and nothing more.
 */
#ifndef TR_DEPLOY_AUTHORING_PROJECT_H
#define TR_DEPLOY_AUTHORING_PROJECT_H

#include "actors/graph/document/arena.h"

/* The template where nobody names one. */
#define TR_PROJECT_STANDARD "python"

/* The definition of each template; its first comment says what it shows and how it is run. */
#define TR_PROJECT_DEFINITION "flow.yaml"

/* Templates, files of one, and bytes of one file. */
#define TR_PROJECT_TEMPLATES_MAX 64
#define TR_PROJECT_FILES_MAX 64
#define TR_PROJECT_FILE_BYTES_MAX (1U << 20)

struct tr_project {
    struct tr_text name;
    struct tr_text summary;
    struct tr_text command; /* "troupe run flow.yaml ..." */
    struct tr_text folder;  /* absolute */
};

/* All templates, sorted by name. Texts are the arena's. */
struct tr_projects {
    struct tr_project items[TR_PROJECT_TEMPLATES_MAX];
    uint32_t count;
};

/*
 * Finds the templates. TR_NOT_FOUND: none are installed; TR_LIMIT, TR_MALFORMED (a definition
 * without such a comment), TR_SYSTEM (errno), TR_MEMORY.
 */
TR_MUST_USE int tr_projects_read(struct tr_arena *arena, struct tr_projects *projects);

/* The template of a name, or NULL; and the nearest name, or an empty text. */
const struct tr_project *tr_project_find(const struct tr_projects *projects, struct tr_text name);
struct tr_text tr_project_nearest(const struct tr_projects *projects, struct tr_text name);

/*
 * Copies all files of a template into the current folder; `names` lists them: "a, b". TR_EXISTS:
 * `names` lists those that are there already, and nothing was written. After any other error
 * (TR_SYSTEM with errno, TR_STORE_FULL, TR_LIMIT, TR_MEMORY) nothing of it is left.
 */
TR_MUST_USE int tr_project_write(const struct tr_project *project, struct tr_arena *arena,
                                 struct tr_text *names);

#endif
