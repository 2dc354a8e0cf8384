# KEEL_WARNINGS: the warnings every file is compiled with; --enable-werror makes them errors.
AC_DEFUN([KEEL_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])])
  keel_warnings="on"
  KEEL_CFLAGS="-Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes \
-Wvla -Wundef -Wwrite-strings -fvisibility=hidden -fno-strict-aliasing"
  AS_IF([test "x$enable_werror" = xyes],
        [KEEL_CFLAGS="$KEEL_CFLAGS -Werror"; keel_warnings="on, as errors"])
  AC_SUBST([KEEL_CFLAGS])
])

# KEEL_SANITIZERS: --enable-sanitizers builds with AddressSanitizer and UndefinedBehaviorSanitizer.
AC_DEFUN([KEEL_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@], [build with sanitizers (address,undefined)])],
    [], [enable_sanitizers=no])
  keel_sanitizers=$enable_sanitizers
  AS_IF([test "x$enable_sanitizers" = xyes], [keel_sanitizers=address,undefined])
  AS_IF([test "x$keel_sanitizers" != xno], [
    KEEL_CFLAGS="$KEEL_CFLAGS -fsanitize=$keel_sanitizers -fno-omit-frame-pointer"
    KEEL_LDFLAGS="-fsanitize=$keel_sanitizers"
  ])
  AM_CONDITIONAL([SANITIZERS], [test "x$keel_sanitizers" != xno])
  AC_SUBST([KEEL_LDFLAGS])
])

# AX_KEEL_THREADS: POSIX threads.
AC_DEFUN([AX_KEEL_THREADS], [
  AC_SEARCH_LIBS([pthread_create], [pthread], [], [AC_MSG_ERROR([POSIX threads are needed])])
])

# KEEL_OPTIONAL_MODULE(NAME, PKG-CONFIG SPEC, WHAT IT IS FOR)
AC_DEFUN([KEEL_OPTIONAL_MODULE], [
  PKG_CHECK_MODULES([$1], [$2],
    [keel_have_$1=$($PKG_CONFIG --modversion m4_car(m4_unquote(m4_split([$2]))))],
    [keel_have_$1="no ($3 needs it)"])
  AM_CONDITIONAL([HAVE_$1], [test -n "$$1_LIBS"])
])
