#!/bin/bash
# How far a slow start is, on a terminal: one line, in place, which is gone when all nodes have called home
# or something else is shown. An agent for the node "late" waits for a file.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
. "${KEEL_TEST_SRCDIR:?}/tests/lib/system.sh"

cat >"$work/agent" <<EOF
#!/bin/sh
node=\$1
shift
if [ "\$node" = late ]; then
    tries=0
    while [ ! -e $work/go ] && [ \$tries -lt 600 ]; do
        sleep 0.1
        tries=\$((tries + 1))
    done
fi
exec sh -c "\$*"
EOF
chmod +x "$work/agent"

# on_terminal COLUMNS SEEN COMMAND...: runs it on a terminal of its own, and makes $work/go once SEEN was on the
# screen. Prints the last line of progress that was whole, and below that the screen at the end.
cat >"$work/terminal.py" <<'EOF'
import fcntl, os, pty, select, struct, sys, termios, time
columns, seen, go, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
screen, row, column, last, end = [[]], 0, 0, "", time.monotonic() + 40
while time.monotonic() < end:
    if not select.select([fd], [], [], 1)[0]:
        continue
    try:
        data = os.read(fd, 4096).decode("utf-8", "replace")
    except OSError:
        break
    if not data:
        break
    for c in data:
        if c == "\r":  # what stands there now was written whole
            text = "".join(screen[row]).rstrip()
            last = text if text.startswith("keelrun: ") and " nodes h" in text else last
            column = 0
        elif c == "\n":
            row += 1
            screen.append([])
        else:
            if column == columns:  # a real terminal would scroll
                row, column = row + 1, 0
                screen.append([])
            line = screen[row]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = c
            column += 1
    if seen in "".join(screen[row]):
        open(go, "w").close()
print("last", last)
for line in screen:
    text = "".join(line).rstrip()
    if text:
        print("|" + text)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("code", code)
EOF
on_terminal()
{
    rm -f "$work/go"
    timeout 60 python3 "$work/terminal.py" "$1" "$2" "$work/go" "${@:3}" >"$work/out" 2>"$work/err"
}
slow_job=("$keelrun" --mca plm_rsh_agent "$work/agent" --mca progress_delay_ms 100 --host "soon:1,late:1")

on_terminal 100 'waiting for late' "${slow_job[@]}" -n 2 echo ready
is "a slow node: the line, and nothing of it at the end" \
    "last keelrun: 1 of 2 nodes has called home; waiting for late |ready |ready code 0" "$(xargs <"$work/out")"

on_terminal 40 'nodes has' "${slow_job[@]}" -n 2 echo ready
is "a narrow terminal: the last column stays free" 39 "$(sed -n 's/^last //p' "$work/out" | tr -d '\n' | wc -c)"
is "a narrow terminal: nothing at the end" "|ready |ready code 0" "$(sed 1d "$work/out" | xargs)"

on_terminal 100 'no such text' "${slow_job[@]}" --mca plm_start_timeout_s 5 -n 2 echo ready
like "a node that never calls home: the line" "$work/out" '^last .*waiting for late$'
is "a node that never calls home: the error alone at the end" 1 "$(grep -c '^|' "$work/out")"
like "a node that never calls home: the error" "$work/out" '^\|keelrun: node late: its daemon has not called home'

on_terminal 100 'no such text' "$keelrun" --mca progress_delay_ms 100  -n 1 sh -c 'sleep 1; echo one'
is "one node: nothing" "last |one code 0" "$(xargs <"$work/out")"
(sleep 1 && : >"$work/go") & # longer than it would take to come
on_terminal 100 'no such text' "${slow_job[@]}" --mca progress_delay_ms 0 -n 2 echo ready
is "switched off: nothing" "last |ready |ready code 0" "$(xargs <"$work/out")"
wait
late_starts()
{
    pgrep -f "$work/agent late" >/dev/null
}
rm -f "$work/go"
start "${slow_job[@]}" -n 2 echo ready
ok "no terminal: the first node starts" wait_for 10 late_starts
sleep 0.5 # longer than progress_delay_ms, with nothing to wait for: what is tested does not come
: >"$work/go"
await 20
is "no terminal: nothing on stderr" "0:" "$code:$(cat "$work/err")"
finish
