# Phases one after the other, lanes beside each other, and how long each took. To be sourced by a script of this directory.
#
#   phase NAME COMMAND…   runs it here
#   lane NAME COMMAND…    starts it beside others, in a session of its own; its output is kept
#   join                  waits for all lanes and prints each one's output, whole, when it ends
#   seconds               prints the table
#
# COMMAND may be a function that was exported (`export -f`). A phase or a lane that fails ends the script with its exit
# code, and what a lane has started ends with the lane: its session is killed, and where there is `setpriv` (util-linux) the
# kernel kills the lane and the judges in it also if this script itself is killed.

log=$(mktemp -d)
export log
declare -A lanes=() begun=()
tether=""
if setpriv --pdeathsig KILL -- true 2>/dev/null; then tether="setpriv --pdeathsig KILL --"; fi
export tether

end_lanes() {
  local pid
  for pid in "${!lanes[@]}"; do kill -KILL -- "-$pid" 2>/dev/null || true; done
}
trap 'end_lanes; rm -rf "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Lets other lanes have the processors first. A lane is a session of its own, and Linux shares processors between sessions
# before it looks at the niceness of processes, so the session's niceness is set too.
give_way() {
  renice -n 19 -p $$ >/dev/null
  { echo 19 >/proc/self/autogroup; } 2>/dev/null || true
}
export -f give_way

say() { printf '\n== %s\n' "$*"; }

# took NAME SECONDS
took() { printf '%-28s %8s\n' "$1" "$2" >>"$log/seconds"; }
export -f took

phase() {
  local name=$1 begin=$EPOCHSECONDS
  shift
  say "$name"
  "$@"
  took "$name" $((EPOCHSECONDS - begin))
}

lane() {
  local name=$1
  shift
  # shellcheck disable=SC2086  # the words of the tether
  setsid $tether bash -euo pipefail -c '"$@"' lane "$@" >"$log/lane $name" 2>&1 </dev/null &
  lanes[$!]=$name
  begun[$!]=$EPOCHSECONDS
}

join() {
  local pid code name
  say "side by side: $(printf '%s, ' "${lanes[@]}" | sed 's/, $//')"
  while [ ${#lanes[@]} -gt 0 ]; do
    code=0
    wait -n -p pid "${!lanes[@]}" || code=$?
    name=${lanes[$pid]}
    unset "lanes[$pid]"
    # Whatever it has left behind.
    kill -KILL -- "-$pid" 2>/dev/null || true
    took "$name" $((EPOCHSECONDS - begun[$pid]))
    say "$name, after $((EPOCHSECONDS - begun[$pid])) s"
    cat "$log/lane $name"
    if [ "$code" -ne 0 ]; then
      echo "failed: $name, with exit code $code" >&2
      exit "$code"
    fi
  done
}

seconds() {
  printf '%-28s %8s\n' phase seconds
  cat "$log/seconds"
  printf '%-28s %8s\n' "in all" "$SECONDS"
}
