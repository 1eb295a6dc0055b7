package desk

// The store in a database.

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// SQLStore is a store in a table of a database. It is made with [SQL].
type SQLStore struct{ db *sql.DB }

var _ Store = (*SQLStore)(nil)

// SQL returns a store in the table hooks_questions of db, which [SQLStore.Migrate]
// makes. The statements are those of PostgreSQL and SQLite, and are tested there
// with the drivers pgx/v5/stdlib and modernc.org/sqlite; the driver must take
// parameters as $1. The caller closes db. SQL panics if db is nil.
//
// A record is a row: what is asked for has columns, and body is the whole as JSON.
// Nothing removes rows; delete those of runs that are over. SQLite has to be told to
// wait for its lock, else most of many changes at once fail; with modernc.org/sqlite by
//
//	file:desk.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate
func SQL(db *sql.DB) *SQLStore {
	if db == nil {
		panic("desk: SQL: the database is nil")
	}
	return &SQLStore{db}
}

// schema makes what isn't there. Times are microseconds since 1970.
var schema = []string{
	`create table if not exists hooks_questions (
		id text primary key,
		version bigint not null,
		state text not null,
		run text not null,
		root text not null,
		tenant text not null,
		expires bigint not null,
		body text not null
	)`,
	`create index if not exists hooks_questions_root on hooks_questions (root, state)`,
	`create index if not exists hooks_questions_expires on hooks_questions (expires, id)`,
}

// Migrate makes the table and its indexes where they aren't there. Processes may
// call it at the same time; call it before the store is used.
func (s *SQLStore) Migrate(ctx context.Context) error {
	var err error
	for range 5 { // PostgreSQL's "if not exists" fails where two make it at once
		if err = s.migrate(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("desk: Migrate: %w", err)
	}
	return nil
}

func (s *SQLStore) migrate(ctx context.Context) error {
	for _, statement := range schema {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Insert is described at [Store].
func (s *SQLStore) Insert(ctx context.Context, rec Record) (Record, error) {
	q := &rec.Question
	if q.ID == "" {
		return Record{}, errNoID
	}
	rec = rec.clone()
	rec.Version = 1
	body, err := bodyOf(&rec)
	if err != nil {
		return Record{}, err
	}
	n, err := s.exec(ctx, `insert into hooks_questions (id, version, state, run, root, tenant, expires, body)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing`,
		q.ID, rec.Version, string(rec.State), q.RunID, q.RootRunID, q.Tenant, rec.Expires.UnixMicro(), body)
	if err != nil {
		return Record{}, about(q.ID, err)
	}
	if n == 1 {
		return rec, nil
	}
	there, err := s.Get(ctx, q.ID)
	if err != nil {
		return Record{}, err
	}
	return there, about(q.ID, ErrExists)
}

// Get is described at [Store].
func (s *SQLStore) Get(ctx context.Context, id string) (Record, error) {
	if strings.ContainsRune(id, 0) || strings.ToValidUTF8(id, "") != id { // no database takes that for a text
		return Record{}, errors.Join(ctx.Err(), about(id, ErrNotFound))
	}
	row := s.db.QueryRowContext(ctx, `select version, state, expires, body from hooks_questions where id = $1`, id)
	rec, err := scanned(row)
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, about(id, ErrNotFound)
	}
	if err != nil {
		return Record{}, about(id, err)
	}
	return rec, nil
}

// Update is described at [Store].
func (s *SQLStore) Update(ctx context.Context, rec Record) error {
	q := &rec.Question
	was := rec.Version
	rec.Version++
	body, err := bodyOf(&rec)
	if err != nil {
		return err
	}
	n, err := s.exec(ctx, `update hooks_questions
		set version = $1, state = $2, run = $3, root = $4, tenant = $5, expires = $6, body = $7
		where id = $8 and version = $9`,
		rec.Version, string(rec.State), q.RunID, q.RootRunID, q.Tenant, rec.Expires.UnixMicro(), body, q.ID, was)
	if err != nil {
		return about(q.ID, err)
	}
	if n == 1 {
		return nil
	}
	if _, err := s.Get(ctx, q.ID); err != nil {
		return err
	}
	return about(q.ID, ErrConflict)
}

// pageSize is how many rows List has in memory at once.
const pageSize = 50

// List is described at [Store].
func (s *SQLStore) List(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		n := 0
		var last *place
		for {
			page, next, err := s.page(ctx, q, last)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, row := range page {
				if row.err == nil {
					if !q.Matches(row.rec) { // for the Audience, which has no column
						continue
					}
					n++
				}
				if !yield(row.rec, row.err) || n > 0 && n == q.Limit {
					return
				}
			}
			if last = next; last == nil {
				return
			}
		}
	}
}

type listed struct {
	rec Record
	err error
}

// page returns the rows behind last, and the place of the last one of them if more
// may follow. No connection is in use when it returns.
func (s *SQLStore) page(ctx context.Context, q Query, last *place) (page []listed, next *place, err error) {
	query, args := selection(q, last)
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("desk: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var at place
	for rows.Next() {
		var r row
		if err := rows.Scan(&at.id, &r.version, &r.state, &at.expires, &r.body); err != nil {
			return nil, nil, fmt.Errorf("desk: %w", err)
		}
		r.expires = at.expires
		rec, err := r.record()
		if err != nil {
			rec, err = Record{}, about(at.id, err)
		}
		page = append(page, listed{rec, err})
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("desk: %w", err)
	}
	if len(page) == pageSize {
		next = &at
	}
	return page, next, nil
}

// selection returns the statement for a page of what q asks for.
func selection(q Query, last *place) (query string, args []any) {
	param := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	var where []string
	for _, column := range [...]struct{ name, value string }{{"run", q.RunID}, {"root", q.RootRunID}, {"tenant", q.Tenant}} {
		if column.value != "" {
			where = append(where, column.name+" = "+param(column.value))
		}
	}
	if len(q.States) > 0 {
		var states []string
		for _, state := range q.States {
			states = append(states, param(string(state)))
		}
		where = append(where, "state in ("+strings.Join(states, ", ")+")")
	}
	if last != nil {
		later, same := param(last.expires), param(last.expires)
		where = append(where, "(expires > "+later+" or expires = "+same+" and id > "+param(last.id)+")")
	}
	query = "select id, version, state, expires, body from hooks_questions"
	if len(where) > 0 {
		query += " where " + strings.Join(where, " and ")
	}
	return query + " order by expires, id limit " + strconv.Itoa(pageSize), args
}

// exec returns how many rows a statement has changed.
func (s *SQLStore) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("desk: %w", err)
	}
	return result.RowsAffected()
}

// row is what is read of a record. What has a column is what counts.
type row struct {
	version, expires int64
	state, body      string
}

func scanned(from *sql.Row) (Record, error) {
	var r row
	if err := from.Scan(&r.version, &r.state, &r.expires, &r.body); err != nil {
		return Record{}, fmt.Errorf("desk: %w", err)
	}
	return r.record()
}

func (r *row) record() (Record, error) {
	var rec Record
	if err := json.Unmarshal([]byte(r.body), &rec); err != nil {
		return Record{}, fmt.Errorf("desk: the body can't be read: %w", err)
	}
	rec.Version, rec.State, rec.Expires = r.version, State(r.state), time.UnixMicro(r.expires).UTC()
	return rec, nil
}

// bodyOf returns rec as JSON, which writes control characters as escapes: no
// database takes a NUL in a text.
func bodyOf(rec *Record) (string, error) {
	raw, err := json.Marshal(rec)
	if err != nil {
		return "", about(rec.Question.ID, fmt.Errorf("desk: %w", err))
	}
	return string(raw), nil
}
