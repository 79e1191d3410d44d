# Sourced by the other scripts: the checkout's root, messages, the build.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1

# on_error FILE LINE COMMAND STATUS...: reports where errexit ended a script. A subshell leaves that to the shell
# that waits for it; a script that a signal ended needs no explanation.
on_error() {
	[ "$BASH_SUBSHELL" = 0 ] || return 0
	case $4 in 129 | 130 | 143) return 0 ;; esac
	printf 'scripts/%s, line %s: status %s from: %s%s\n' "${1##*/}" "$2" "${*:4}" \
		"$([ $# -eq 4 ] || echo '... | ')" "${3//$'\n'/ }" >&2
}
set -E
trap 'on_error "${BASH_SOURCE[0]}" "$LINENO" "$BASH_COMMAND" "${PIPESTATUS[@]}"' ERR

say() {
	printf '== %s\n' "$*"
}

fail() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# build_preset NAME [CMAKE OPTION...]: configure and build into build/NAME; all, or BUILD_TARGET.
build_preset() {
	local preset=$1
	shift
	say "build: $preset (build/$preset)"
	# One list, because errexit is off in here if the caller checks the status.
	if mkdir -p "build/$preset" && { [ -w "build/$preset" ] || fail "$ROOT/build/$preset cannot be written to"; } &&
		cmake --preset "$preset" "$@" --log-level=WARNING >/dev/null &&
		cmake --build "build/$preset" --parallel "$(nproc)" \
			${BUILD_TARGET:+--target "$BUILD_TARGET"} -- --quiet; then
		return 0
	fi
	say_full "build/$preset"
	say_full "${TMPDIR:-/tmp}"
	return 1
}

# say_full DIRECTORY: reports a full disk, which compilers and CMake often do not mention.
say_full() {
	local free
	free=$(df --output=avail -m "$1" 2>/dev/null | tail -n 1) || return 0
	[ "${free:-100}" -ge 20 ] || say "the disk of $1 is full: $((free)) MB are free"
}

# The major version of the JDK in that home; empty: unknown.
jdk_major() {
	sed -nE 's/^JAVA_VERSION="(1\.)?([0-9]+).*/\2/p' "$1/release" 2>/dev/null | head -n 1 || true
}

# The home of a JDK with a compiler: the lowest version in JSAMPLER_JDKS (as for tests/integration/jvm.py) or
# /usr/lib/jvm; else JAVA_HOME. Empty: none.
find_jdk() {
	local LC_ALL=C dir home major best='' least=0 dirs places
	IFS=: read -ra dirs <<<"${JSAMPLER_JDKS:-/usr/lib/jvm}"
	for dir in "${dirs[@]}"; do
		if [ -e "$dir/bin/java" ]; then places=("$dir"); else places=("$dir"/*); fi
		for home in "${places[@]}"; do
			if ! [ -e "$home/bin/java" ] || ! [ -e "$home/bin/javac" ]; then
				continue
			fi
			major=$(jdk_major "$home")
			if [ -n "$major" ] && { [ -z "$best" ] || [ "$major" -lt "$least" ]; }; then
				best=$home least=$major
			fi
		done
	done
	if [ -z "$best" ] && [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/javac" ]; then
		best=$JAVA_HOME
	fi
	[ -z "$best" ] || readlink -f "$best"
}
