#!/usr/bin/env bash
# Tests the deployment in a real AWS account: see `bench/smoke.ts`. Needs the AWS CLI 2 with an administrator's
# credentials and a region, an account in which `npx cdk bootstrap` was run, and the brand's secret.
set -euo pipefail
: "${1:?usage: bench/smoke.sh SETTINGS [BRAND [DAY [REPORT]]]; by default the first brand, the day before yesterday, order_list}"
settings=$(realpath "$1")
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"
exec node --disable-warning=ExperimentalWarning bench/smoke.ts "$settings" "${@:2}"
