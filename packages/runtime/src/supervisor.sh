#!/bin/sh
# Runs a server for exactly as long as the process that started this script holds the other end of its stdin.
#
#   sh supervisor.sh <grace in seconds> <command> [<argument> …]
#
# The kernel closes that pipe however the holder ends, SIGKILL included, so the server can't outlive it. At the end of the
# file the server gets TERM, and KILL when it is still there after the grace. Exits with the server's own status.

tenths=$(($1 * 10))
shift

# A background job's stdin is /dev/null in POSIX sh, so the pipe is kept as descriptor 3. The server must not hold it.
exec 3<&0 </dev/null

"$@" 3<&- &
server=$!

{
  read -r _ <&3
  kill -TERM "$server"
  while [ "$tenths" -gt 0 ] && kill -0 "$server"; do
    sleep 0.1
    tenths=$((tenths - 1))
  done
  kill -KILL "$server"
} >/dev/null 2>&1 &
watcher=$!

# Only the server's end ends the supervisor. Set last: the watcher has to stay killable.
trap '' INT TERM HUP

exec 3<&-
wait "$server"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
