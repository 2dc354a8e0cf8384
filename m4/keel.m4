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
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers], [for make fuzz: build for libFuzzer (needs clang)])],
    [], [enable_fuzzers=no])
  AS_IF([test "x$enable_fuzzers" = xyes], [
    keel_sanitizers=address,undefined
    KEEL_CFLAGS="$KEEL_CFLAGS -fsanitize=fuzzer-no-link,$keel_sanitizers \
-fno-sanitize-recover=undefined -fno-omit-frame-pointer"
    KEEL_LDFLAGS="-fsanitize=$keel_sanitizers"
  ])
  AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
  AM_CONDITIONAL([SANITIZERS], [test "x$keel_sanitizers" != xno])
  AC_SUBST([KEEL_LDFLAGS])
])

# AX_KEEL_THREADS: POSIX threads.
AC_DEFUN([AX_KEEL_THREADS], [
  AC_SEARCH_LIBS([pthread_create], [pthread], [], [AC_MSG_ERROR([POSIX threads are needed])])
])

# KEEL_MODULE(NAME, PKG-CONFIG SPEC): one that has to be there.
AC_DEFUN([KEEL_MODULE], [
  PKG_CHECK_MODULES([$1], [$2])
  keel_have_$1=$($PKG_CONFIG --modversion m4_car(m4_unquote(m4_split([$2]))))
])

# KEEL_OPTIONAL_MODULE(NAME, PKG-CONFIG SPEC, WHAT IT IS FOR)
AC_DEFUN([KEEL_OPTIONAL_MODULE], [
  PKG_CHECK_MODULES([$1], [$2],
    [keel_have_$1=$($PKG_CONFIG --modversion m4_car(m4_unquote(m4_split([$2]))))],
    [keel_have_$1="no ($3 needs it)"])
  AM_CONDITIONAL([HAVE_$1], [test -n "$$1_LIBS"])
])

# KEEL_PMIX_VERSION: libpmix's name of its own version, which it tells the processes that it starts.
AC_DEFUN([KEEL_PMIX_VERSION], [
  dnl its macros do not compile without warnings of ours
  PMIX_CFLAGS=`AS_ECHO(["$PMIX_CFLAGS"]) | sed 's/-I */-isystem /g'`
  AM_CONDITIONAL([OFFER_PMIX], [test -n "$PMIX_LIBS" && test -n "$HWLOC_LIBS"])
  AM_COND_IF([OFFER_PMIX], [
    AC_MSG_CHECKING([libpmix's own version])
    keel_save_CFLAGS=$CFLAGS keel_save_LIBS=$LIBS
    CFLAGS="$CFLAGS $PMIX_CFLAGS" LIBS="$LIBS $PMIX_LIBS"
    AC_RUN_IFELSE([AC_LANG_PROGRAM([#include <pmix.h>
#include <stdio.h>], [
      char version[[64]];
      FILE *file = fopen("conftest.out", "w");
      if (!file || sscanf(PMIx_Get_version(), "%*s %63[[^ ,]]", version) != 1) return 1;
      fputs(version, file);
      return fclose(file);])],
      [keel_pmix_version=`cat conftest.out`],
      [keel_pmix_version=$keel_have_PMIX], [keel_pmix_version=$keel_have_PMIX])
    CFLAGS=$keel_save_CFLAGS LIBS=$keel_save_LIBS
    AC_MSG_RESULT([$keel_pmix_version])
    AC_DEFINE([OFFER_PMIX], [1], [the launcher serves PMIx])
    AC_DEFINE_UNQUOTED([PMIX_SERVER_VERSION], ["$keel_pmix_version"], [libpmix's own version])
  ])
])
