#!/bin/sh
# Who may include whom: rooms only look down, never sideways, and what is outside the house sees
# include/keel alone. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
cd "$tree" || exit 1

# room NAME ALLOWED...: the house's headers that files in NAME include are in the allowed rooms, or are
# allowed themselves (a/b.h).
rooms='base|oob|rml|btl|btl2|ptl|pml|wireup|bootstrap|compat|launcher|tools|examples|bench|tests|include|lib'
room()
{
    name=$1
    shift
    text="$name includes only $*"
    allowed=$(for one in "$@"; do
        case $one in *.h) echo "$one>" ;; *) echo "$one/[^.]" ;; esac
    done | paste -sd '|')
    if [ ! -d "$name" ]; then
        report "$text # SKIP no such folder" ''
        return
    fi
    report "$text" "$(find "$name" -name '*.[ch]' -exec grep -nHE \
        '^[[:space:]]*#[[:space:]]*include' {} + |
        grep -E "[<\"]($rooms)/|[<\"]\.\.?/" |
        grep -vE "include[[:space:]]*<($allowed)")"
}

room base keel base
room oob keel base oob
room rml keel base oob rml
room btl keel base btl
room btl/usnic/wire keel base btl/sessions btl/peers/netcard.h btl/usnic/wire
room btl/usnic/engine keel base btl/usnic/wire/packet.h btl/usnic/engine
room btl/usnic/port keel base btl/fabric btl/usnic/wire btl/usnic/port
room btl/sm/segment keel base btl/sm/segment
room btl/tcp/wire keel base btl/memory/region.h btl/peers/netcard.h btl/tcp/wire
room btl/ofi/wire keel base btl/sessions btl/ofi/wire
room btl/ofi/provider keel base btl/fabric btl/ofi/provider
room btl2 keel base btl btl2
room ptl keel base btl ptl
room pml keel base ptl pml
room wireup keel base wireup
room bootstrap keel base oob rml/interface btl btl2 ptl pml wireup bootstrap
room compat keel base oob rml/interface bootstrap compat
room launcher keel base oob rml/interface wireup launcher

# rooms_of FOLDER ALLOWED...: the rooms in FOLDER. Its README has a table of them, in which each names
# those above it that it may include.
rooms_of()
{
    folder=$1
    shift
    rooms_above=
    table=$(sed -n 's/^| \[`\([a-z0-9]*\)\/`\](.*|\(.*\)|$/\1 \2/p' "$folder/README.md" | tr -d '`')
    while read -r place others; do
        visible="$* $folder/$place"
        beside=
        for other in $others; do
            if [ -d "$folder/${other%%/*}" ]; then
                case " $rooms_above " in *" ${other%%/*} "*) ;; *) beside="$beside $other" ;; esac
                other=$folder/$other
            fi
            visible="$visible $other"
        done
        report "$folder/$place names only rooms above it" "$beside"
        # shellcheck disable=SC2086 # the list is meant to be split
        room "$folder/$place" $visible
        rooms_above="$rooms_above $place"
    done <<EOF
$table
EOF
    report "the table of $folder/README.md has every room" "$(for path in "$folder"/*/; do
        case " $rooms_above " in *" $(basename "$path") "*) ;; *) echo "$path" ;; esac
    done)"
}

rooms_of base keel
rooms_of btl keel base
rooms_of pml keel base ptl
report 'every source of base/, btl/, pml/ and rml/ is in a room' "$(find base btl pml rml -maxdepth 1 -name '*.[ch]')"
rooms_of rml keel base
rooms_of launcher keel base
room launcher/request/nodes keel base launcher/request/nodes launcher/request/suggest.h
room launcher/node/explain keel base wireup launcher/shepherd launcher/node/daemon.h launcher/node/service.h \
    launcher/node/explain
room launcher/node/orders keel base wireup launcher/request launcher/node/orders
room launcher/node/server keel base wireup rml launcher/node/server
room launcher/head/explain keel base wireup launcher/job launcher/node/explain launcher/head/hnp.h launcher/head/standing.h launcher/head/explain
room launcher/head/spawn keel base wireup launcher/request launcher/node launcher/head/hnp.h launcher/head/spawn
report 'the head itself includes nothing of its rooms' "$(grep -nE \
    '#[[:space:]]*include[[:space:]]*<launcher/head/[a-z]+/' launcher/head/*.[ch])"
report 'the rooms do not include launcher/request/options' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*<launcher/request/options/' launcher/*/ | grep -v '^launcher/request/options/')"
room launcher/pmix/connection keel base launcher/pmix/connection
room launcher/pmix/exchange keel base wireup rml launcher/node launcher/pmix/exchange launcher/pmix/pmix_module.h
room launcher/pmix/module keel base wireup launcher/pmix/module launcher/pmix/pmix_module.h launcher/pmix/job_check.h
report 'what is asked for and where it goes are pure' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*<(base/(loop/(loop|handover)|net/sock|host/session)|pthread|poll|sys/(socket|epoll|wait))\.h>' \
    launcher/request launcher/map)"
report 'what becomes of a job is decided without input and output' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*<(base/(loop|net|host)/|pthread|poll|unistd|sys/(socket|epoll))' launcher/job)"

room tools keel tools base/text/json.h base/text/control.h
room examples keel examples
room bench keel bench tools/cli.h tools/buffer.h

# The programs and the data plane never load hwloc or libpmix, which stand in modules.
report 'only modules include hwloc' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*<hwloc' base oob rml btl btl2 ptl pml wireup bootstrap compat launcher |
    grep -vE '^(base/host/topo_hwloc|launcher/pmix/module/(pmix_module_internal|registration))\.[ch]:')"
report 'only the modules include libpmix' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*<(pmix|pmix_server|pmix_tool)\.h' base oob rml btl btl2 ptl pml wireup bootstrap compat launcher |
    grep -vE '^(launcher/pmix/module/pmix_module_internal\.h|bootstrap/pmix/module\.c):')"

# A file of another room must be named with its room, so that the rules above see it.
report 'every include of the house names its room' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*"' base oob rml btl btl2 ptl pml wireup bootstrap compat launcher include/keel)"

report 'only compat includes the old paths' "$(grep -rnE --include='*.[ch]' \
    '#[[:space:]]*include[[:space:]]*[<"](orte|opal|ompi|orte_config|opal_config)[/.]' \
    base oob rml btl btl2 ptl pml wireup bootstrap launcher include/keel)"

# config.h chooses what the C library's headers declare, so no header comes before it.
report 'every source begins with config.h' "$(find base oob rml btl btl2 ptl pml wireup bootstrap compat launcher tools -name '*.c' |
    while read -r file; do
        grep -m 1 '^#include' "$file" | grep -qx '#include <config.h>' || echo "$file"
    done)"

libc='assert|ctype|errno|fcntl|inttypes|limits|stdarg|stdbool|stddef|stdint|stdio|stdlib|string'
libc="$libc|time|unistd|sys/[a-z]+|netinet/[a-z]+"
report 'installed headers include only keel/ and the C library' "$(grep -rnE --include='*.h' \
    '#[[:space:]]*include' include/keel |
    grep -vE "include[[:space:]]*<(keel/[a-z0-9_]+|$libc)\.h>")"
report 'the old paths include only keel/, each other and the C library' "$(grep -rnE \
    --include='*.h' '#[[:space:]]*include' include/compat |
    grep -vE "include[[:space:]]*<(keel/[a-z0-9_]+|(orte|opal|ompi)(_config|/[a-z_/]+)|$libc)\.h>")"

report 'every header is installed' "$(find include -name '*.h' | while read -r header; do
    case $header in include/compat/*) list=include/compat/local.mk ;; *) list=include/local.mk ;; esac
    grep -qw "$header" "$list" || echo "$header"
done)"

echo "1..$number"
