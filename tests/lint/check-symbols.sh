#!/bin/sh
# libkeel lives in one process with libraries that export the original names: everything that it
# exports begins with keel_, everything that the headers promise is there, and it needs no library
# that only some processes use. Output is TAP.
. "${KEEL_TEST_SRCDIR:?}/tests/lint/report.sh"
libraries=${KEEL_TEST_BUILDDIR:?}/lib/.libs

# exported LIBRARY: the names of its dynamic symbols, without those of versions and of AddressSanitizer.
exported()
{
    nm -D --defined-only "$1" | awk '$2 != "A" && $3 !~ /^__odr_asan\./ { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# promised: the ELF names of what the installed headers declare public.
promised()
{
    find "$tree/include" -name '*.h' | while read -r header; do
        ${CC:-cc} -E -P -I "$tree/include/compat" -I "$tree/include" "$header"
    done | tr '\n' ' ' | sed 's/[;{}]/\n/g' | grep 'visibility("default")' | awk '
        /asm/ { sub(/.*asm__ *\( *"keel_" *"/, "keel_"); sub(/".*/, ""); print; next }
        { sub(/ *\(.*/, ""); sub(/.*[ *]/, ""); print }' | sort -u
}

libkeel=$libraries/libkeel.so
if [ ! -e "$libkeel" ]; then
    echo "not ok 1 - $libkeel is built"
    echo '1..1'
    exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
exported "$libkeel" >"$work/exported"
promised >"$work/promised"

report 'libkeel exports something' "$(test -s "$work/exported" || echo nothing)"
report 'every symbol of libkeel begins with keel_' "$(grep -v '^keel_' "$work/exported")"
report 'the headers promise something' "$(test -s "$work/promised" || echo nothing)"
report 'libkeel has what the headers promise' "$(comm -13 "$work/exported" "$work/promised")"
for module in "$libraries"/keel-*.so; do
    [ -e "$module" ] || continue
    own=keel_
    [ "${module##*/}" != keel-pmix.so ] || own='keel_|PMIx_' # launcher/pmix/module/query_check.c
    report "every symbol of ${module##*/} begins with $own" "$(exported "$module" | grep -vE "^($own)")"
done

needed='libevent_core-[0-9.]+|libsodium|libz|libc|libm|libdl|librt|libpthread|ld-[a-z0-9_-]+'
needed="$needed|libgcc_s|lib[a-z]*san"
report 'libkeel needs only libevent_core, libsodium, zlib and the C library' "$(readelf -dW "$libkeel" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE "^($needed)\.so")"

echo "1..$number"
