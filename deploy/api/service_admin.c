/*
 * flyteidl.service.AdminService, as far as it is served.
 */
#include <flyteidl/admin_version.pb-c.h>

#include "deploy/api/services.h"
#include "deploy/common/program.h"

void tr_api_get_version(struct tr_api_call *call, const void *request)
{
    static char program[] = "troupe";
    static char version[] = TR_PROGRAM_VERSION;
    Flyteidl__Admin__Version control_plane;
    Flyteidl__Admin__GetVersionResponse response;
    (void)request;
    flyteidl__admin__version__init(&control_plane);
    flyteidl__admin__get_version_response__init(&response);
    control_plane.build = program;
    control_plane.version = version;
    response.control_plane_version = &control_plane;
    tr_api_answer(call, &response.base);
}
