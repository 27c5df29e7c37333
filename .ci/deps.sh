#!/bin/sh
# The packages that ccltune is built and tested with: the only list of them.
#
#   deps.sh [USE]            install what is missing (Debian and its kin, as root); anyone else is told
#                            the commands, and it ends with 1
#   deps.sh --check [USE]    only say what is missing, end with 1
#
# USE is build, test (the default; includes MPI and build) or ci (includes test). Rows are probed, not
# looked up in a package database, so a library or an MPI that the site installed itself counts. When
# nothing is missing nothing is touched and no network is used.
set -u

rows='
#use   probe                     Debian                Fedora
build  command:make              make                  make
build  command:compiler          gcc                   gcc
build  header:stdio.h            libc6-dev             glibc-devel
build  command:pkg-config        pkg-config            pkgconf
build  module:hwloc>=2.0         libhwloc-dev          hwloc-devel
build  module:gsl>=2.0           libgsl-dev            gsl-devel
build  module:yaml-0.1>=0.1.4    libyaml-dev           libyaml-devel
build  module:jansson>=2.10      libjansson-dev        jansson-devel
build  header:uthash.h           uthash-dev            uthash-devel
test   command:mpiexec           mpich                 mpich
test   command:mpicc             libmpich-dev          mpich-devel
test   module:cmocka>=1.1        libcmocka-dev         libcmocka-devel
test   perl:TAP::Harness         perl                  perl-Test-Harness
ci     command:clang             clang                 clang
ci     clang:address             libclang-rt-14-dev    compiler-rt
ci     command:clang-format      clang-format          clang-tools-extra
'

compiler=${CC:-gcc}

have_command() {
    case $1 in
    compiler) command -v "${compiler%% *}" ;;
    mpi*) command -v "$1.mpich" || command -v "$1" ;;
    *) command -v "$1" ;;
    esac
}

have() { # kind name
    case $1 in
    command) have_command "$2" ;;
    header) echo "#include <$2>" | ${compiler} -E - ;;
    module) pkg-config --exists "${2%%>=*} >= ${2##*>=}" ;;
    perl) perl -M"$2" -e 1 ;;
    clang) echo 'int main(void){return 0;}' | clang -x c -fsanitize="$2" -o /dev/null - ;;
    esac >/dev/null 2>&1
}

uses_of() { # a use includes those before it
    case $1 in
    build) echo build ;;
    test) echo build test ;;
    ci) echo build test ci ;;
    *) echo "deps.sh: '$1' is not build, test or ci" >&2; exit 2 ;;
    esac
}

find_missing() { # sets debian, fedora
    debian='' fedora=''
    while read -r use probe deb rpm; do
        case " $uses " in
        *" ${use:-#} "*) have "${probe%%:*}" "${probe#*:}" || debian="$debian $deb" fedora="$fedora $rpm" ;;
        esac
    done <<EOF
$rows
EOF
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || apt-get -q update || return 1
    apt-get -q install -y --no-install-recommends "$@" ||
        { apt-get -q update && apt-get -q install -y --no-install-recommends "$@"; }
}

check=no
if [ "${1:-}" = --check ]; then check=yes; shift; fi
uses=$(uses_of "${1:-test}") || exit 2

find_missing
[ -n "$debian" ] || exit 0
if [ $check = yes ]; then
    echo "error: not found:$debian (Debian's names): 'make deps' installs or names them" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt_install $debian </dev/null || { echo "error: apt-get could not install:$debian" >&2; exit 1; }
    find_missing
    [ -n "$debian" ] || exit 0
    echo "error: still not found after installing:$debian" >&2
    exit 1
fi
cat >&2 <<EOF
error: packages are missing; install them as root, then run make again:
  Debian, Ubuntu:  apt-get install -y --no-install-recommends$debian
  Fedora, RHEL:    dnf install -y$fedora
EOF
exit 1
