module github.com/loophooks/hooks/policy

go 1.26.5

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/loophooks/hooks v0.0.0
	github.com/maypok86/otter/v2 v2.4.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/loophooks/hooks => ../
