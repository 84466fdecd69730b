#!/bin/sh
# Gets the schema of speedscope's files, which its package ships, for the tests of exports.
# Nothing is done where it is there, or where npm is not installed.
set -eu
cd "$(dirname "$0")/.."

version=1.25.0
sha256=03d098921294fca54ac1b67ea050138d867e44228c7cb140d958fbdfe345c911
target=build/viewers/file-format-schema.json

[ -e "$target" ] && exit 0
command -v npm >/dev/null 2>&1 || {
	echo "npm is not installed: speedscope's files are not held against its schema" >&2
	exit 1
}
mkdir -p build/viewers
folder=$(mktemp -d build/viewers/get.XXXXXX)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm pack --silent "speedscope@$version" >/dev/null)
tar -xzf "$folder/speedscope-$version.tgz" -C "$folder" package/dist/release/file-format-schema.json
found=$folder/package/dist/release/file-format-schema.json
echo "$sha256  $found" | sha256sum --check --quiet
mv "$found" "$target"
