#!/bin/sh
# task.sh MODULE TASK INPUTS OUTPUTS RAW: runs a task as its container would; the module lies here.
PYTHONPATH=$TROUPE_FOLDER${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
exec pyflyte-execute --inputs "$3" --output-prefix "$4" --raw-output-data-prefix "$5" \
    --resolver flytekit.core.python_auto_container.default_task_resolver \
    -- task-module "$1" task-name "$2"
