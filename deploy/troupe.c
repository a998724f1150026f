/*
 * The program: everything it does stands in deploy/command.c and in a file for each command, so
 * that tests can use them.
 */
#include "deploy/command.h"

int main(int argc, char **argv)
{
    return (int)tr_program_run(argc, argv);
}
