# `make` alone lists what there is to make.

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   ?= $(shell git describe --always --exclude '*' --abbrev=40 --dirty 2>/dev/null)
FUZZTIME ?= 10s

# How binaries are built: one version of Go makes the same bytes in each folder, whatever its environment says. No paths, no
# C, flags and levels of processors from here, and version and commit too, instead of git. -s -w: no tables for debuggers,
# a third of the size.
GO_BUILD := CGO_ENABLED=0 GOFLAGS=-trimpath GOAMD64=v1 GOARM64=v8.0 go build -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X github.com/loadctl/loadctl/targets/loadworker.version=$(VERSION) -X github.com/loadctl/loadctl/targets/loadworker.commit=$(COMMIT)"

# Linters have a mod file of their own, so that the library's dependencies stay few.
TOOL := go tool -modfile=.ci/tools/go.mod

# Modules beside the product's, whose go.mod must not grow: files for container engines and systemd, what a release
# consists of, the program that makes packages, the configurations of releases and workflows, and the bench.
MODULES := .ci/manifests .ci/release .ci/workflows deploy deploy/packages lab

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

.DEFAULT_GOAL := help
.PHONY: help build demo tested check test test-all shipped acceptance chaos upgrade sim lint fmt vuln fuzz bench microbench web linux share packages image push chart chartfile site release release-check pictures clean

help: ## Show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## Build bin/loadctl and bin/loadworker
	$(GO_BUILD) -o bin/ ./cmd/loadctl ./cmd/loadworker

demo: build ## See in fifteen seconds what it does; needs only Go
	bin/loadctl demo

# Packages whose tests run whole fleets of processes. They run after the units, few tests of a package at once: on
# two cores, 16 at once take longer, and twice the CPU.
FLEETS := /proof/(e2e|chaos|doctest)$$
# Many tests of units wait, so four packages run at once, also on two cores, and eight tests of each: with two tests of each,
# two cores were idle for half of the time.
# The packages that take longest begin, so none is alone at the end.
LONGEST := ./internal/engine/worker ./internal/fleet/run ./targets/client ./internal/engine/loop ./internal/fleet/results ./cmd/loadctl
units   = $(LONGEST) $$(go list ./... | grep -v -E '$(FLEETS)')
fleets  = $$(go list ./... | grep -E '$(FLEETS)')
# Packages without goroutines of their own, scripts that Redis executes, and browsers: the race detector has nothing to find
# there. Nor in the tests SINGLE, in which one goroutine computes; TestPairs and its like play the same engines as the tests
# beside them, a thousand times, and TestLimitOfEvents reads 100 MiB as the tests beside it read little.
# Races run on the portable sockets, which have goroutines; the other tiers on those of Linux.
PURE   := /report(/|$$)|/lua$$|/internal/(outage|output/.*|input/(importer|preview|rehearsal|workload)|fleet/spec|console/(compare|ui)|proof/(budgetsim|model|sim))$$|/pacer/(accesslog|circle|poisson)$$|/targets/(check|classes|cookies|events|formula|grpc|http1|program|redact|reply|resp|rows|sigv4|status|template|trace|ws)$$
SINGLE := ^Test(Pairs|Triples|Sequences|ReplayOfManyRows|ReplayOfADay|ReplayKeepsCounts|BeforeCountsSlots|ReportIsThatOfItsWorkers|SeriesIsWhole|StreamOfALargeFleet|FrameFits|Frames|HostileText|Keys|TallyIsTheDefinition|FlagsDescribeTheRun|FilesAgreeWithExitCode|MemoryIsRedis|RequestsOfFlowsAreTheSlots|RequestsOfManySlots|LimitOfEvents)$$|^TestRaw$$/^hostile
raced   = $(LONGEST) $$(go list ./... | grep -v -E '$(FLEETS)|$(PURE)')

# make lint has vetted the code, and tests need no tables for debuggers: less to compile and to link.
GO_TEST := go test -vet=off -ldflags=-w

# Tests run these commands as processes. They are built once for all packages.
test test-all acceptance chaos upgrade: export LOADCTL_COMMANDS := $(CURDIR)/bin/tested
tested:
	@go build -o bin/tested/ ./cmd/loadctl ./cmd/loadworker

test: ## Test all units, scripts and simulations, and a fleet for each promise (5 to 10 minutes; installs what it needs)
	@.ci/setup test
	@.ci/tier tested  $(MAKE) --no-print-directory tested
	@.ci/tier units  $(GO_TEST) -short -p 4 -parallel 8 -timeout 15m $(units)
	@.ci/tier fleets $(GO_TEST) -short -count=1 -p 1 -parallel 4 -timeout 15m $(fleets)

test-all: ## Test everything: also races, each protocol and fault, pages in a browser, documents, packages (20 to 30 minutes)
	@.ci/setup all
	@.ci/tier tested  $(MAKE) --no-print-directory tested
	@.ci/tier races   $(GO_TEST) -short -race -tags portable -p 4 -parallel 4 -timeout 15m -skip '$(SINGLE)' $(raced)
	@.ci/tier units   $(GO_TEST) -p 4 -parallel 8 -timeout 15m $(units)
	@.ci/tier fleets  $(GO_TEST) -count=1 -p 2 -parallel 6 -timeout 20m $(fleets)
	@.ci/tier shipped $(MAKE) --no-print-directory shipped

# What is shipped: modules of their own. Go does not see that files outside of them change. Two at once: some compile much,
# and others wait for processes.
shipped:
	@printf '%s\n' $(MODULES) | xargs -P 2 -I{} go -C {} test -vet=off -ldflags=-w -count=1 ./...

# Packages whose tests run processes or servers.
SERVED := $(FLEETS)|/internal/(engine/(worker|loop)|fleet/(embedded|link|mux|orders|results|run)|console/(cli|runflags|doctor|limiters|metrics|search|ui|watch)|proof/(model|redistest))$$|/cmd/|/examples/|/pacer/limit$$|/lua$$|/targets/(client|probe)$$

check: ## Build, vet, and test the pure units: arithmetic, parsers, formats (a minute)
	@go build ./...
	@go vet ./...
	@.ci/tier check go test -short -timeout 5m $$(go list ./... | grep -v -E '$(SERVED)')

acceptance: ## Measure the promises at full size, on a quiet machine (an hour, half of it one worker's heap)
	@.ci/setup all
	LOADCTL_E2E=full go test -count=1 -timeout 90m -v ./internal/proof/e2e
	LOADCTL_E2E=full go test -count=1 -v -run 'TestDemo|Hang' ./cmd/loadctl ./cmd/loadctl/prepare
	LOADCTL_E2E=full go test -count=1 -v -run 'TestInterrupt|TestUnreachable' ./targets/loadworker
	LOADCTL_E2E=full go test -count=1 -v -run 'Hang' ./internal/console/doctor ./internal/console/metrics
	LOADCTL_E2E=full go -C lab test -count=1 -v -run 'TestMeasure' ./limiters
	LOADCTL_E2E=full go test -count=1 -p 1 ./internal/fleet/link ./internal/fleet/run ./internal/fleet/removal ./internal/engine/worker ./internal/engine/loop ./targets/client
	LOADCTL_E2E=full go test -count=1 -v -run TestHTMLLooks ./report/render

chaos: ## Break everything that can break under a fleet, as root on a quiet machine (12 minutes)
	@.ci/setup all
	LOADCTL_CHAOS=full go test -count=1 -timeout 30m -v ./internal/proof/chaos

upgrade: ## Run this version beside the commit OTHER: they work together exactly, or refuse
	@.ci/setup all
	LOADCTL_OTHER=$(OTHER) go test -count=1 -v -run TestVersions/real ./internal/proof/e2e

sim: ## Simulate 1,100 fleets of 50 workers while all that can break breaks, all pairs and 10,000 sequences of events (half an hour)
	LOADCTL_WORKERS=50 LOADCTL_SEEDS=44 go test -count=1 -timeout 30m -v -run TestSeeds ./internal/proof/sim
	LOADCTL_PAIRS=$(CURDIR)/docs/pairs.md go test -count=1 -timeout 30m -run TestPairs ./internal/engine/worker
	LOADCTL_SEEDS=10000 go test -count=1 -timeout 30m -run TestSequences ./internal/engine/worker
	LOADCTL_SEEDS=10000 go test -count=1 -timeout 30m -run TestMemoryIsRedis ./pacer/limit
	LOADCTL_SEEDS=8000 go test -count=1 -timeout 30m -v -run TestBudgetsHold ./internal/proof/budgetsim

lint: ## Check formatting, look for conflict markers, and run the linters of .golangci.yml
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt needed, run 'make fmt':"; echo "$$unformatted"; exit 1; }
	@! grep -rnE '^(<{7}|>{7}) ' --exclude-dir={.git,bin,dist} . || { echo "these are conflict markers: choose, and delete them"; exit 1; }
	@# Where a download fails, the linter says "no go files to analyze". So download before, and try again.
	for module in . $(MODULES); do for wait in 5 30 0; do \
		go -C $$module list -deps -test ./... >/dev/null && break; test $$wait != 0; sleep $$wait; done; done
	$(TOOL) golangci-lint run ./...
	for module in $(MODULES); do (cd $$module && go tool -modfile="$(CURDIR)/.ci/tools/go.mod" golangci-lint run ./...); done

fmt: ## Format all Go files
	$(TOOL) golangci-lint fmt ./...

vuln: ## Look for known vulnerabilities (needs https://vuln.go.dev)
	$(TOOL) govulncheck ./...

fuzz: ## Run each fuzz test for FUZZTIME (10s)
	@# -list prints a package's fuzz tests and then "ok <package>"; turn that into "<package> <test>" lines.
	@found=$$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ {f[n++] = $$1} /^ok/ {for (i = 0; i < n; i++) print $$2, f[i]; n = 0}'); \
	while read -r package fuzz <&3; do \
		(set -x; go test -run '^$$' -fuzz "^$$fuzz\$$" -fuzztime $(FUZZTIME) "$$package"); \
	done 3< <(test -z "$$found" || echo "$$found")

bench: ## Measure beside other load generators, into docs/benchmarks.md, on a quiet machine (35 minutes)
	@command -v redis-server >/dev/null || { echo "This needs redis-server: apt-get install -y redis-server, and wrk hey apache2-utils python3-aiohttp for comparison" >&2; exit 1; }
	go -C lab run . -out ../docs/benchmarks.md

microbench: ## Run the benchmarks of the packages
	go test -run '^$$' -bench . -benchmem ./...

# The charts library of the pages, as it is on npm. A test checks the files in the tree.
UPLOT        := 1.6.32
UPLOT_SHA256 := 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d

web: ## Fetch the charts library of the pages, and check it (needs npm)
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	npm pack --silent --pack-destination "$$dir" uplot@$(UPLOT) >/dev/null; \
	echo "$(UPLOT_SHA256)  $$dir/uplot-$(UPLOT).tgz" | sha256sum --check --quiet; \
	tar -xzf "$$dir/uplot-$(UPLOT).tgz" -C "$$dir"; \
	install -m 644 "$$dir"/package/{LICENSE,dist/uPlot.iife.min.js,dist/uPlot.min.css} internal/output/page/uplot/

ARCHES   ?= amd64 arm64

# The time of all files in packages and images: that of the commit.
export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),0)

# linux builds both commands for each of ARCHES into bin/linux_ARCH.
linux:
	@for arch in $(ARCHES); do (set -x; GOOS=linux GOARCH=$$arch $(GO_BUILD) -o bin/linux_$$arch/ ./cmd/loadctl ./cmd/loadworker); done

# share writes into bin/share what comes with the commands: manual pages, completion, documents, the licences of others, and
# the unit for packages.
# Modes and times do not depend on the checkout.
share: build
	@rm -rf bin/share; mkdir -p bin/share/completion
	@for program in loadctl loadworker; do \
		TZ=UTC bin/$$program man bin/share/man; \
		for shell in bash zsh fish; do bin/$$program completion $$shell >bin/share/completion/$$program.$$shell; done; \
	done
	@gzip -9n bin/share/man/*
	@go -C deploy run ./licenses -root "$(CURDIR)" >bin/share/THIRD-PARTY-LICENSES
	@go -C deploy run ./sbom -root "$(CURDIR)" -version "$(VERSION)" >bin/share/loadctl.cdx.json
	@sed 's#/usr/local/bin#/usr/bin#' examples/systemd/loadworker@.service >bin/share/loadworker@.service
	@cp -r docs examples bin/share
	@chmod -R u=rwX,go=rX bin/share; find bin/share -exec touch --no-dereference --date=@$(SOURCE_DATE_EPOCH) {} +

packages: linux share ## Write packages for Debian and Red Hat into dist/, in place of earlier ones
	@rm -f dist/*.deb dist/*.rpm
	@for arch in $(ARCHES); do go -C deploy/packages run . -root "$(CURDIR)" -version "$(VERSION)" -arch $$arch; done

image: linux share ## Write an OCI image for amd64 and arm64 into dist/image, without a container engine
	@go -C deploy run ./image -root "$(CURDIR)" -version "$(VERSION)" -commit "$(COMMIT)" $(ARCHES)

push: ## Push dist/image as IMAGE=REGISTRY/NAME:TAG, with the credentials of docker login
	@test -n "$(IMAGE)" || { echo "name the image: make push IMAGE=registry.example.com/loadctl:v1.2.3" >&2; exit 1; }
	@go -C deploy tool crane push "$(CURDIR)/dist/image" "$(IMAGE)"

# Charts have a semantic version, without v. A version without numbers becomes one that is older than all releases.
CHART_VERSION = $(shell sed -E '/^v?[0-9]+\.[0-9]+\.[0-9]+/{s/^v//;q}; s/[^0-9A-Za-z-]+/./g; s/^/0.0.0-g/' <<<'$(VERSION)')

chart: chartfile ## Lint the Helm chart, render it with five sets of values, and write it into dist/
	go -C .ci/manifests test -count=1 -run '^TestChart' .

# chartfile writes the chart as a file, with the same bytes each time.
chartfile:
	@rm -rf bin/chart dist/loadctl-*.tgz; mkdir -p bin/chart dist; cp -r deploy/helm/loadctl bin/chart; rm -r bin/chart/loadctl/ci; chmod -R u=rwX,go=rX bin/chart
	@sed -i -e 's/^version: .*/version: $(CHART_VERSION)/' -e 's/^appVersion: .*/appVersion: "$(VERSION)"/' bin/chart/loadctl/Chart.yaml
	@tar -C bin/chart --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(SOURCE_DATE_EPOCH) -cf - loadctl | gzip -9n >dist/loadctl-$(CHART_VERSION).tgz

site: ## Render docs/ as pages that need no network, into dist/site
	@go -C deploy run ./site -root "$(CURDIR)" -version "$(VERSION)"

release-check: ## Check the configuration of a release (it builds goreleaser first: minutes)
	go tool -modfile=.ci/release/go.mod goreleaser check

# release publishes a draft of a release of the tag that is checked out. Only .github/workflows/release.yml calls it.
release:
	go tool -modfile=.ci/release/go.mod goreleaser release --clean

pictures: ## Make the pictures of docs/img anew, from the report and the live page (needs chromium-headless-shell)
	go test ./internal/console/ui -run PageLooks -update
	go test ./report/render -run HTMLLooks -update

clean: ## Remove what was built
	rm -rf bin dist
