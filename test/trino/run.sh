#!/usr/bin/env bash
# Compares Trino with DuckDB on a stack that is deployed to a local AWS. Run it by hand: it takes minutes, 2 GB of memory and,
# the first time, a download of 0.8 GB, which stays in TRINO_HOME (.trino).
# TRINO_VERSION is 476 (Java 24 or newer) or 368 (Java 11 to 17; not tried yet), whose reader of Parquet is stricter.
# Java is TRINO_JAVA, or bin/java of JAVA_HOME, or java on the PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."

export TRINO_VERSION=${TRINO_VERSION:-476}
case $TRINO_VERSION in
  476) sha256=cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f oldest=24 newest=99 ;;
  368) sha256=794a7df6faae51895183b52c6d7f36f0a9715140fab317dac5400f71729c05cd oldest=11 newest=17 ;;
  *)
    echo "TRINO_VERSION is \"$TRINO_VERSION\"; allowed: 476, 368" >&2
    exit 2
    ;;
esac

export TRINO_JAVA=${TRINO_JAVA:-${JAVA_HOME:+$JAVA_HOME/bin/}java}
java=$("$TRINO_JAVA" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' || true)
if [ "${java:-0}" -lt "$oldest" ] || [ "${java:-0}" -gt "$newest" ]; then
  echo "Trino $TRINO_VERSION needs Java $oldest to $newest; $TRINO_JAVA is \"${java:-none}\". Name another one: TRINO_JAVA=/path/to/bin/java" >&2
  exit 2
fi

home=${TRINO_HOME:-.trino}
mkdir -p "$home"
export TRINO_SERVER=$(realpath "$home")/trino-server-$TRINO_VERSION
if [ ! -d "$TRINO_SERVER" ]; then
  name=trino-server-$TRINO_VERSION
  unpacked=$(mktemp -d "$home/unpacked-XXXXXX")
  trap 'rm -rf "$unpacked"' EXIT
  curl -fsS -o "$unpacked/server.tar.gz" "https://repo1.maven.org/maven2/io/trino/trino-server/$TRINO_VERSION/$name.tar.gz"
  echo "$sha256  $unpacked/server.tar.gz" | sha256sum --check --quiet
  tar xzf "$unpacked/server.tar.gz" -C "$unpacked"
  mv "$unpacked/$name" "$TRINO_SERVER"
  rm -rf "$unpacked"
fi
exec bash test/aws/run.sh trino
