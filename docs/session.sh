#!/usr/bin/env bash
# The session in docs/session.svg. Needs haft on PATH. To record it anew:
#   asciinema rec --overwrite --cols 126 --rows 40 -c docs/session.sh session.cast
#   svg-term --in session.cast --out docs/session.svg --window --no-cursor
set -u
workspace=$(mktemp -d)
HAFT_STATE_DIR=$(mktemp -d)
export HAFT_STATE_DIR
cd "$workspace" || exit 1
printf 'def greet(name):\n    print(f"Hello, {name}!")\n\ngreet("wrold")\n' > greet.py

run() {
    printf '\033[1;32m$\033[0m '
    local text=$1 index
    for ((index = 0; index < ${#text}; index++)); do
        printf '%s' "${text:index:1}"
        sleep 0.012
    done
    sleep 0.4
    printf '\n'
    eval "$text"
    sleep 1.4
    printf '\n'
}

run "haft call grep '{\"pattern\": \"greet\"}'"
run "haft call edit '{\"path\": \"greet.py\", \"old_string\": \"greet(\\\"world\\\")\", \"new_string\": \"greet(\\\"haft\\\")\"}'"
run "haft call --run demo edit '{\"path\": \"greet.py\", \"old_string\": \"wrold\", \"new_string\": \"world\"}'"
run "haft call bash '{\"cmd\": \"python3 greet.py | tr a-z A-Z\"}' --json"
run "haft call bash '{\"cmd\": \"rm -rf /usr\"}'"
run "haft call read '{\"path\": \"../../etc/passwd\"}'"
run "haft runs list"
run "haft diff demo"
run "haft undo demo"
sleep 2
rm -rf "$workspace" "$HAFT_STATE_DIR"
