.PHONY: check test short race ci

check:
	go vet ./...
	go tool staticcheck ./...

test:
	go test ./...

short:
	go test -short ./...

race:
	go test -race -short ./...

ci:
	bash .ci/run
