# Sourced by the other scripts: the checkout's root, messages, the build.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1

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
	# One list: a caller that looks at the status switches errexit off in here.
	cmake --preset "$preset" "$@" --log-level=WARNING >/dev/null &&
		cmake --build "build/$preset" --parallel "$(nproc)" \
			${BUILD_TARGET:+--target "$BUILD_TARGET"} -- --quiet
}

# The home of a JDK with a compiler, JSAMPLER_JDKS first, the lowest version else; empty: none.
find_jdk() {
	python3 - <<-'PY'
		import sys
		sys.dont_write_bytecode = True
		sys.path.insert(0, "tests/integration")
		import jvm
		jdks = jvm.find_jdks()
		print(jdks[min(jdks)].home if jdks else "")
	PY
}
