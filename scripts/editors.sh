#!/bin/sh
# Gets the YAML language server that editors run, for the tests of JSON Schemas.
# Nothing is done where it is there, or where npm is not installed.
set -eu
cd "$(dirname "$0")/.."

version=1.25.0
target=build/editors/node_modules/yaml-language-server/bin/yaml-language-server

[ -e "$target" ] && exit 0
for program in node npm; do
	command -v "$program" >/dev/null 2>&1 || {
		echo "$program is not installed: schemas are not tried with a language server" >&2
		exit 1
	}
done
mkdir -p build
folder=$(mktemp -d build/editors.XXXXXX)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix "$folder" \
	"yaml-language-server@$version" >/dev/null
rm -rf build/editors
mv "$folder" build/editors
