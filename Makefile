# Every target does its own set-up on a fresh Debian 12/13 or Ubuntu 24.04 (as root, by apt).
SHELL := /bin/sh
CARGO  = $$(packaging/find-cargo)
# The binary is copied to nodes: it must not depend on the libraries found there. With --target,
# the flags do not reach build scripts and procedural macros, which cannot be static.
HOST   = $$($(CARGO) -vV | sed -n 's/^host: //p')
# Where it was built, and by whom, is in no program: two builds are the same (`make reproducible`).
NOWHERE = --remap-path-prefix=$(CURDIR)=/hawser --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=/cargo
# OPENSSL_STATIC: pkg-config then also names what libcrypto.a itself needs (Debian 13's: zlib, zstd).
STATIC = OPENSSL_STATIC=1 RUSTFLAGS="-C target-feature=+crt-static $(NOWHERE)"
# Its addresses are fixed up at each start; packed they are 17 KiB to read instead of 1.7 MiB (binutils 2.38, glibc 2.36).
PACKED = -C link-arg=-Wl,-z,pack-relative-relocs

.PHONY: build hawser packages reproducible docs demo test test-all test-unit test-labs test-machines expected lint bench setup clean

build: hawser ## target/release/hawser, self-contained, and target/release/hawser-client, which needs libiscsi
	@RUSTFLAGS="$(NOWHERE)" $(CARGO) build --target-dir target --release --locked --bin hawser-client

hawser: ## target/release/hawser alone
	@packaging/setup build
	@$(STATIC) $(CARGO) rustc --target-dir target --release --locked --target $(HOST) -p hawser --bin hawser -- $(PACKED)
	@install -D target/$(HOST)/release/hawser target/release/hawser

packages: build ## target/packages: hawser, hawser-watch, hawser-client and hawser-exports-agent as .deb and .rpm, with man pages and completions
	@packaging/packages

reproducible: ## the packages twice, in two folders, as two users of cargo: that they are the same, byte for byte; half an hour and more
	@packaging/setup build
	@packaging/reproducible

docs: ## target/docs/site: the documentation and the page of each cause as a site that can be searched; every link checked
	@packaging/setup build
	@packaging/docs-site/make target/docs

demo: build ## the main job: a lab, a planted fault, the account, the cause
	@packaging/setup lab
	@target/release/hawser demo

# With the binary of the tests' own build: another one would take as long again as the labs.
test: ## unit tests, golden cases, and the lab tests
	@packaging/setup build
	@packaging/run-tests

# The tests' own build makes the client: its dependencies are not built a third time for it.
test-all: hawser ## the same against the release binary, and the lab tests that are left out of every change
	@HAWSER_BIN=$(CURDIR)/target/release/hawser packaging/run-tests --all

test-unit: ## what needs no lab: five minutes on a slow machine, when it is built
	@packaging/setup build
	@packaging/run-tests --unit

test-labs: hawser ## the tests of labs TIMES times: what a new one must pass before it is admitted
	@HAWSER_BIN=$(CURDIR)/target/release/hawser packaging/run-tests --labs $(or $(TIMES),10)

test-machines: build ## labs of machines with kernels of their own (docs/machines.md), and a table of what held
	@packaging/setup lab qemu
	@HAWSER_BIN=$(CURDIR)/target/release/hawser packaging/run-tests --machines

expected: ## writes the answers that the saved cases expect, and what is tried (docs/tune.md), again; shows what changed
	@UPDATE_CASES=1 $(CARGO) test -q -p hawser-account --test it
	@UPDATE_CASES=1 $(CARGO) test -q -p hawser-import --test it -- golden:: draft::
	@UPDATE_CASES=1 $(CARGO) test -q -p hawser-watch --test it live::
	@UPDATE_CASES=1 $(CARGO) test -q -p hawser-top --test screens
	@git --no-pager diff --stat -p -U1 -- cases crates/hawser-account/src/causes docs/tune.md crates/hawser-watch/tests/it/live crates/hawser-top/tests/screens

lint:
	@packaging/setup build
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@$(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target --locked
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --offline check licenses bans sources; \
	else packaging/check-licences; fi

bench: build ## side by side with iperf3, iperf2, nuttcp, sockperf, nc, rsync and scp
	@packaging/setup lab bench
	@bench/udp-rate
	@bench/check
	@bench/copy
	@bench/exports

setup: ## everything by apt: build, lab, benchmark peers, and what checks the pages and the alert rules
	@packaging/setup build lab bench browser prometheus

clean:
	@$(CARGO) clean
