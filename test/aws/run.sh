#!/usr/bin/env bash
# Deploys the stack to a local AWS (moto's server, in a virtual environment of its own), runs its functions there
# and reads back what they wrote. Needs Python 3.10 or newer with venv. `run.sh trino` is for test/trino/run.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=.venv-aws
packages='moto[server]==5.2.4 cfn-lint==1.58.0'
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$packages" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  # shellcheck disable=SC2086
  "$venv/bin/pip" install --quiet --disable-pip-version-check $packages
  echo "$packages" > "$venv/installed"
fi

export PATH="$PWD/node_modules/.bin:$PATH"
export MOTO_PYTHON="$PWD/$venv/bin/python"
export NODE_OPTIONS='--experimental-vm-modules --disable-warning=ExperimentalWarning'
suite=${1:-aws}
if [ "$suite" = aws ]; then
  npm run --silent synth > /dev/null
  # W3005: CDK writes dependencies that references already imply.
  "$venv/bin/cfn-lint" --ignore-checks W3005 --template cdk.out/*.template.json
fi
exec jest --runInBand --testMatch "<rootDir>/test/$suite/*.$suite.ts"
