// Package sqltest holds the tests of the SQL store of package desk: with SQLite, by
// modernc.org/sqlite, and with a PostgreSQL server, by pgx. It is a module of its own
// so that the library needs no driver, and has nothing to import.
package sqltest
