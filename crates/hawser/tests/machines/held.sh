#!/bin/sh
# What a script of checks begins with: each line that it prints is one thing held against what was wanted.
failed=0
ok() { echo "ok: $1"; }
no() { echo "NOT OK: $1"; failed=1; }
is() { # NAME WANTED FOUND
	if [ "$2" = "$3" ]; then ok "$1"; else no "$1: wanted \"$2\", found \"$3\""; fi
}
has() { case "$3" in *"$2"*) ok "$1" ;; *) no "$1: \"$2\" is not in: $3" ;; esac; }
hasnt() { case "$3" in *"$2"*) no "$1: \"$2\" is in: $3" ;; *) ok "$1" ;; esac; }
