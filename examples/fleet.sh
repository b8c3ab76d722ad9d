#!/usr/bin/env bash
# A fleet on one machine, from nothing to a report: a private Redis, a server that counts, three workers, a live change
# of the rate. Needs Go and redis-server; leaves nothing behind. Takes about six seconds after the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v redis-server >/dev/null || { echo "redis-server is missing: apt-get install -y redis-server" >&2; exit 1; }

dir=$(mktemp -d)
workers=() servers=()
cleanup() {
	for pid in "${workers[@]}" "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait || true
	rm -rf "$dir"
}
trap cleanup EXIT

# await COMMAND… until it succeeds, for 10 s.
await() {
	for _ in {1..200}; do
		if "$@"; then return; fi
		sleep 0.05
	done
	echo "waited in vain for: $*" >&2
	cat "$dir"/*.log >&2
	exit 1
}

echo "== building"
go build -o "$dir/" ./cmd/loadctl ./cmd/loadworker
export PATH="$dir:$PATH"

# A socket in a directory of our own instead of a port: nobody else can have it.
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" >"$dir/redis.log" &
servers+=($!)
loadctl target --listen 127.0.0.1:0 >"$dir/target.log" &
servers+=($!)
await test -S "$dir/redis.sock"
await grep -q counting "$dir/target.log"
url=$(sed -n 's/^counting at //p' "$dir/target.log")/
export LOADCTL_REDIS="unix://$dir/redis.sock"

echo "== three workers, 300 requests per second in all"
for id in w1 w2 w3; do
	loadworker run --run fleet --url "$url" --qps 300 --min-workers 3 --id "$id" >"$dir/$id.report" 2>"$dir/$id.log" &
	workers+=($!)
done
await grep -q ' in this second' "$dir/target.log"
sleep 2
loadctl status fleet

echo "== 900 per second from now on"
loadctl set-rate fleet 900
sleep 2

echo "== stop, and the report"
loadctl stop fleet
wait "${workers[@]}"
loadctl report fleet

echo "== what the server counted"
kill "${servers[1]}"
await grep -q '^10s' "$dir/target.log"
cat "$dir/target.log"
