/*
 * The program: everything it does stands in deploy/command.c and in a file for each command, so
 * that tests can use them.
 */
#include "deploy/command.h"
#include "deploy/stream.h"

int main(int argc, char **argv)
{
    tr_streams_open();
    enum tr_exit_status status = tr_program_run(argc, argv);
    tr_streams_close();
    return (int)status;
}
