//go:build !unix

package sqltest

import "errors"

type postgres struct{}

func startPostgres() (*postgres, error) {
	return nil, errors.New("the tests start a PostgreSQL server on Unix systems alone")
}

func (*postgres) source(string) string { return "" }

func (*postgres) stop() error { return nil }
