# What man pages show, as C. Sourced.

# man_programs PAGE PREFIX: writes each whole program of a page, a literal block with "int main(", to
# the file PREFIX-N.c, and prints the files' names.
man_programs()
{
    awk -v prefix="$2" '
        /^\.Bd -literal/ { inside = 1; text = ""; next }
        /^\.Ed/ {
            if (inside && text ~ /\nint main\(/) {
                file = prefix "-" ++count ".c"
                printf "%s", text > file
                close(file)
                print file
            }
            inside = 0
        }
        inside {
            gsub(/\\e/, "\\")
            gsub(/\\&/, "")
            text = text $0 "\n"
        }' "$1"
}

# man_prototypes PAGE: a source that compiles only if the prototypes of a page are those of the
# headers. Types of functions are declared again, which C allows with the same type only; members of
# structures that are functions are compared.
man_prototypes()
{
    awk '
        BEGIN {
            print "#include <keel/btl2.h>"
            print "#include <keel/host.h>"
            print "#include <keel/info.h>"
            print "#include <keel/keel.h>"
            print "#include <keel/pml.h>"
            print "#include <keel/ptl_ext.h>"
            print "#include <keel/tool.h>"
            printf "#define SAME(type, page, member) _Static_assert(__builtin_types_compatible_p("
            printf "__typeof__(((type *) 0)->member), __typeof__(((page *) 0)->member)), "
            print "#type \".\" #member)"
        }
        /^\.Bd -literal/ { inside = 1; next }
        /^\.Ed/ { inside = 0 }
        !inside || /^\./ { next }
        /^typedef .*\(\*/ { declares = 1 }
        declares {
            print
            if (/;$/)
                declares = 0
        }
        /^struct [a-z_0-9]* \{$/ { name = $2; print "struct page_" name " {"; next }
        name != "" {
            print
            if (match($0, /\(\*[a-z_0-9]*\)\(/))
                members[++count] = "struct " name ", struct page_" name ", " \
                    substr($0, RSTART + 2, RLENGTH - 4)
            if (/^\};/)
                name = ""
        }
        END {
            for (i = 1; i <= count; i++)
                print "SAME(" members[i] ");"
        }' "$1"
}
