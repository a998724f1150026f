# shellcheck shell=bash
# Sourced by deploy/quickstart and tests/run: installs what is missing of a table of Debian
# packages.
#
# A table is an array of rows "package|what it is for". Nothing is touched, and no password asked,
# when all of a table is installed already. The tables are read by the scripts that source this.
# shellcheck disable=SC2034

packages_to_build=(
    "gcc|compiles Troupe"
    "libc6-dev|the C library's headers"
    "cmake|describes the build"
    "ninja-build|runs the build"
    "pkg-config|finds the libraries below"
    "libzmq3-dev|messages between workers and between hosts"
    "libczmq-dev|certificates and service threads for ZeroMQ"
    "libmsgpack-dev|the encoding of messages"
    "libcurl4-openssl-dev|http to task back ends and object stores"
    "libsodium-dev|names graphs by their SHA-256"
    "libjansson-dev|reads JSON"
    "libyaml-dev|reads YAML"
    "libprotobuf-c-dev|reads and writes Flyte's own documents"
    "protobuf-c-compiler|makes C of their definitions"
    "libarchive-dev|reads packages of Flyte's"
    "libnghttp2-dev|HTTP/2 at the port of troupe serve"
    "libmicrohttpd-dev|HTTP/1.1 at the same port"
    "libssl-dev|TLS at that port"
    "zlib1g-dev|messages that clients have compressed"
    "libsqlite3-dev|the embedded store"
    "libpq-dev|the store in PostgreSQL"
    "libzstd-dev|compresses the log of that store"
    "libglib2.0-dev|knows the clocks of time zones"
    "tzdata|the time zones themselves"
)

# The pages of the HTTP port are bundled by these, unless there is a Node.js of another source.
packages_to_bundle=(
    "nodejs|bundles the pages"
    "npm|fetches their libraries, as a lock file says"
)
if command -v node >/dev/null && command -v npm >/dev/null; then
    packages_to_bundle=()
fi

packages_to_test=(
    "libcmocka-dev|runs the unit tests"
    "clang|the second compiler"
    "clang-format|checks the format of the code"
    "shellcheck|checks the scripts"
    "groff|checks the manual pages"
    "python3-jsonschema|holds the language's schema against the compiler"
    "python3-yaml|reads definitions for that"
    "python3-venv|a folder for Flyte's own library, which Debian has not"
    "faketime|sets the wall clock under a program that runs"
    "zsh|completes what is typed, as bash does"
    "fish|the same"
    "postgresql|a server for the store in PostgreSQL"
    "curl|asks the port of troupe serve"
    "chromium|looks at its pages"
    "openssl|makes certificates for it"
    "prometheus|its promtool checks metrics and alerts"
    "python3-cryptography|signs tokens of a double of an OpenID provider"
    "python3-jwt|reads them, as a judge of that"
    "python3-aiohttp|serves the doubles of back ends that plugins are tested against"
)

packages_to_sanitize=(
    "libclang-rt-14-dev|clang's sanitizers and libFuzzer"
)

packages_to_tidy=(
    "clang-tidy|looks for faults without running anything"
)

# missing_packages ROW...: prints the rows whose package is not installed.
missing_packages() {
    local row installed
    installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' \
        "${@%%|*}" 2>/dev/null || true)
    for row in "$@"; do
        if ! grep --quiet --line-regexp --fixed-strings "installed ${row%%|*}" <<<"$installed"; then
            printf '%s\n' "$row"
        fi
    done
}

# as_root COMMAND...: runs the command as root, through sudo where that is needed.
as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        sudo "$@"
    fi
}

# explain_by_hand REASON PACKAGE...: says what to install where this script cannot do it.
explain_by_hand() {
    printf 'These packages are missing and cannot be installed from here (%s):\n' "$1" >&2
    shift
    printf '    %s\n' "$@" >&2
    printf 'Install them, or what your system calls them, and run this again.\n' >&2
    return 1
}

# require_packages ROW...: installs the packages that are missing, saying which and why.
require_packages() {
    local rows names row
    if ! command -v dpkg-query >/dev/null; then
        printf 'This is not a Debian system: going on, as if all packages were there.\n' >&2
        return 0
    fi
    mapfile -t rows < <(missing_packages "$@")
    if [[ ${#rows[@]} -eq 0 ]]; then
        return 0
    fi
    names=("${rows[@]%%|*}")
    if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
        explain_by_hand "neither root nor sudo" "${names[@]}"
        return 1
    fi
    printf 'Installing what is missing:\n'
    for row in "${rows[@]}"; do
        printf '    %-22s %s\n' "${row%%|*}" "${row#*|}"
    done
    install_packages "${names[@]}"
}

# install_packages NAME...: by apt, waiting for another apt that is at work.
install_packages() {
    local options=(-q -o DPkg::Lock::Timeout=600)
    as_root apt-get "${options[@]}" update
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get "${options[@]}" install --yes --no-install-recommends "$@"
}
