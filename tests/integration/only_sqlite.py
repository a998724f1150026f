"""Tests that are about SQLite's file, and are skipped where stores are in PostgreSQL: a table.

A row names a test program, a class of it or a test, and says why. test_stores.py holds each row to
what there is.
"""

ROWS = {
    "test_api.ApiTest.test_flags_are_checked_before_anything_begins":
        "whether a store's folder is made",
    "test_api_faults.FullDiskTest.test_a_store_that_cannot_be_written":
        "the full disk is the engine's own, where SQLite's file is",
    "test_api_executions.ExecutionsTest.test_an_engine_that_leaves_tidies_its_store_up":
        "which files SQLite leaves",
    "test_authoring.InitTest.test_an_installation_has_them": "an installed program is run",
    "test_authoring.InitTest.test_mistakes_are_named": "a copy of the program is run",
    "test_backup": "a backup is of SQLite's file; a database is backed up by its own means",
    "test_blobs.SharedFolderTest.test_a_backup_holds_them": "a backup is of SQLite's file",
    "test_blobs_in_objects.ObjectsTest.test_an_export_and_a_backup_hold_them":
        "a backup is of SQLite's file",
    "test_elements.ElementsTest.test_many_elements": "rows of SQLite's file are written",
    "test_example_plugins.PageTest": "the page installs a program, which is not the test's",
    "test_flyte_apply.ApplyTest.test_entities_go_along_with_their_store":
        "a backup is of SQLite's file",
    "test_flyte_packages.CodeTest.test_code_goes_along_with_its_store":
        "a backup is of SQLite's file",
    "test_helper.HelperTest.test_a_program_without_it_goes_on": "a copy of the program is run",
    "test_hosts.RefusalsTest.test_a_store_in_its_folder_has_no_hosts":
        "a store with SQLite's file is refused",
    "test_libraries": "a server's library is hidden, or the program is not the test's own",
    "test_limits.SweepTest.test_run": "the shell before the program needs processes, too",
    "test_limits.SweepTest.test_serve": "the shell before the program needs processes, too",
    "test_move_sweep": "each kill has a copy of the store's folder",
    "test_observe.LookingTest.test_a_store_that_cannot_be_read": "SQLite's file is overwritten",
    "test_older_stores.OlderStoresTest.test_a_backup_is_whole": "a backup is of SQLite's file",
    "test_operating.OperatingTest": "the page's commands are about backups and SQLite's file",
    "test_ping.FullDiskTest": "the full disk is the engine's own, where SQLite's file is",
    "test_ping.PingTest.test_a_database_that_another_program_holds": "a lock of SQLite's file",
    "test_power_cut": "the disk that loses its power is that of SQLite's file",
    "test_run.RunTest.test_the_store_is_damaged": "SQLite's file is overwritten",
    "test_starts.StartTest.test_a_store_of_an_earlier_version": "what older programs left",
    "test_starts.StartTest.test_a_store_that_is_open_is_told_and_closed": "rights of SQLite's file",
    "test_starts.StartTest.test_a_store_that_lost_its_database": "SQLite's file is lost",
    "test_starts.StartTest.test_too_few_descriptors": "the shell before the program needs some",
    "test_still": "how SQLite's file is read where nothing may be written",
    "test_store_check.FolderTest": "SQLite's file is damaged; DatabaseTest has PostgreSQL",
    "test_store_commands.FolderTest": "SQLite's file is changed; DatabaseTest has PostgreSQL",
    "test_store_files": "each file of a store with SQLite's is harmed",
    "test_store_trouble": "disks and bytes of SQLite's file",
    "test_walk.WalkTest.test_the_tutorial": "the page says that a new store is made",
    "test_web.WebTest.test_a_store_without_hosts_says_so":
        "a store with SQLite's file is refused",
}


def reason_of(name):
    """Why a test, PROGRAM.CLASS.TEST, is skipped; None if it is not."""
    parts = name.split(".")
    return next((ROWS[".".join(parts[:count])] for count in (1, 2, 3)
                 if ".".join(parts[:count]) in ROWS), None)
