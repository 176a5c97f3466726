#!/usr/bin/env bash
# Deploys the stack to a local AWS (moto's server, in a virtual environment of its own), runs its functions there
# and reads back what they wrote. Needs Python 3.10 or newer with venv. `run.sh trino` is for test/trino/run.sh.
# AWS_LAMBDA_RIC=.../aws-lambda-ric/index.mjs runs the functions under AWS's own runtime client.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=.venv-aws
moto='moto[server]==5.2.4'
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$moto" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$moto"
  echo "$moto" > "$venv/installed"
fi

export PATH="$PWD/node_modules/.bin:$PATH"
export MOTO_PYTHON="$PWD/$venv/bin/python"
export NODE_OPTIONS='--experimental-vm-modules --disable-warning=ExperimentalWarning'
suite=${1:-aws}
exec jest --runInBand --testMatch "<rootDir>/test/$suite/*.$suite.ts"
